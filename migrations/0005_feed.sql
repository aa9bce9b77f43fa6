-- What a feed that does not fetch everything anew noted at its last good refresh (which versions of its
-- files the stored prices are of). An opaque text of the feed's own; '' = nothing.
alter table feed add column memo text not null default '';

-- Coverage: refused rows by reason ("no_price 2, schema 1"), and how many rows a good refresh usually
-- has: the median of the last fourteen days.
alter table feed add column rejections text not null default '';
alter table feed add column rows_usual bigint not null default 0;
alter table ingest_run add column rejections text not null default '';

-- Of all that a refresh may change in a row, by the worker's own function: an unchanged refresh of a million
-- offers is found by reading this and the id. 0 = not told (a row of before): taken as changed, once.
alter table offer add column row_hash bigint not null default 0;
