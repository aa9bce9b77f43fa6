-- The worker's side: how each feed does, every attempt, spellings without a rule, and who leads.

-- One row a feed: what replicas show as its freshness.
create table feed (
	provider text not null,
	source text not null,
	outcome text not null default '', -- of the last attempt; '' = none yet
	detail text not null default '',
	refresh_seconds integer not null default 0,
	last_attempt_at timestamptz,
	last_success_at timestamptz,
	observed_at timestamptz, -- last refresh that was stored
	rows_seen bigint not null default 0, -- of the last success, as the next three
	rows_accepted bigint not null default 0,
	rows_rejected bigint not null default 0,
	rows_unmapped bigint not null default 0,
	primary key (provider, source)
) with (fillfactor = 50);

create table ingest_run (
	id bigint generated always as identity primary key,
	provider text not null,
	source text not null,
	started_at timestamptz not null,
	finished_at timestamptz not null,
	outcome text not null,
	detail text not null,
	requests bigint not null,
	bytes bigint not null,
	rows_seen bigint not null,
	rows_accepted bigint not null,
	rows_rejected bigint not null,
	rows_unmapped bigint not null,
	inserted bigint not null,
	changed bigint not null,
	unchanged bigint not null,
	withdrawn bigint not null
);
create index on ingest_run (provider, started_at);

-- Rows that carry such a spelling are offers too; `rows` is how many the last refresh had, 0 once a
-- rule knows it.
create table unmapped_accelerator (
	provider text not null,
	source text not null,
	spelling text not null,
	rows bigint not null,
	first_seen_at timestamptz not null,
	last_seen_at timestamptz not null,
	primary key (provider, source, spelling)
) with (fillfactor = 50);

-- The advisory lock says who leads; the token, raised at every take-over and checked inside every
-- batch, keeps a former leader that has not noticed yet from writing.
create table leader (
	is_only boolean primary key default true check (is_only),
	token bigint not null default 0,
	name text not null default '',
	since timestamptz not null default clock_timestamp()
) with (fillfactor = 10);
insert into leader default values;

-- Idempotent; an administrator who creates the roles after the migration calls it once.
create function grant_roles() returns void
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
	if exists (select from pg_roles where rolname = 'gpupick_ingest') then
		grant usage on schema public to gpupick_ingest;
		grant select on all tables in schema public to gpupick_ingest;
		grant insert, update on offer, feed, unmapped_accelerator to gpupick_ingest;
		grant insert on price_change to gpupick_ingest;
		grant insert, delete on ingest_run to gpupick_ingest;
		grant update on clock, leader to gpupick_ingest;
		grant execute on function make_price_days(integer), drop_price_days(integer)
			to gpupick_ingest;
	end if;
	if exists (select from pg_roles where rolname = 'gpupick_api') then
		grant usage on schema public to gpupick_api;
		grant select on clock, offer, price_change, price_hour, feed, ingest_run,
			unmapped_accelerator to gpupick_api;
	end if;
end $$;
revoke execute on function grant_roles() from public;
select grant_roles();
select own_objects();
