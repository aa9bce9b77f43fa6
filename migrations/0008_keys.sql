-- Who may call: API keys by their hash, and which prices are a company's own.

-- A key itself is shown once, when it is made (`gpupick key new`); kept is its SHA-256.
create table api_key (
	id text primary key check (id ~ '^[0-9A-Za-z]{10}$'),
	hash bytea not null check (octet_length(hash) = 32),
	name text not null check (length(name) between 1 and 100),
	scopes text[] not null check (scopes <@ array['read', 'private_prices', 'admin']),
	created_at timestamptz not null default clock_timestamp(),
	expires_at timestamptz,
	revoked_at timestamptz
);

-- One row: replicas look at it every second and read the keys when it has moved, whoever moved it.
create table api_key_state (
	is_only boolean primary key default true check (is_only),
	version bigint not null default 0
) with (fillfactor = 10);
insert into api_key_state default values;

create function note_api_keys() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
	update api_key_state set version = version + 1;
	return null;
end $$;
create trigger note_api_keys after insert or update or delete or truncate on api_key
	for each statement execute function note_api_keys();

-- Until when the offer's price was a company's own; NULL = never, or since its first day (which its
-- source or its basis then tells). What lies before is not for everybody's history.
alter table offer add column private_until timestamptz;

-- As in 0006, with the new tables: the worker has no business with keys.
create or replace function grant_roles() returns void
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
	if exists (select from pg_roles where rolname = 'gpupick_ingest') then
		grant usage on schema public to gpupick_ingest;
		grant select on all tables in schema public to gpupick_ingest;
		revoke all on api_key, api_key_state from gpupick_ingest;
		grant insert, update on offer, feed, unmapped_accelerator to gpupick_ingest;
		grant insert on price_change to gpupick_ingest;
		grant insert, delete on ingest_run to gpupick_ingest;
		grant update on clock, leader to gpupick_ingest;
		grant execute on function make_price_days(integer), drop_price_days(integer),
			drop_price_hours(integer, integer) to gpupick_ingest;
	end if;
	if exists (select from pg_roles where rolname = 'gpupick_api') then
		grant usage on schema public to gpupick_api;
		grant select on clock, history, offer, price_change, price_hour, price_day, feed,
			ingest_run, unmapped_accelerator, api_key, api_key_state to gpupick_api;
	end if;
end $$;
select grant_roles();
select own_objects();
