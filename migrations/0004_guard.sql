-- What ingest's guard remembers of a feed between refreshes: rows whose price jumped and waits, or the
-- refresh that is held back. An opaque text (server/ingest/guard.c); '' = nothing.
alter table feed add column guard text not null default '';
