-- The live table, its clock and its history.

-- One row. A batch locks it and raises the version once, in its own transaction: commit order is then
-- version order, which no sequence gives (a slow transaction would take 1, a fast one 2 and commit, and
-- a reader that saw 2 would never see 1).
create table clock (
	is_only boolean primary key default true check (is_only),
	epoch uuid not null default gen_random_uuid(), -- renewed when versions may have gone back
	version bigint not null default 0, -- of prices
	as_of timestamptz not null default clock_timestamp(), -- of that version
	status bigint not null default 0, -- of feeds: raised by every refresh and every run
	log_from bigint not null default 0 -- price_change is complete after this version
) with (fillfactor = 10);
insert into clock default values;

-- One row an offer for ever: what left the market is marked, never deleted. NULL is "not told".
-- Only the key is indexed: an index on a column that changes would make every update a new index
-- entry instead of a heap-only one.
create table offer (
	id bigint primary key, -- offer_id() of the key: the same in every database
	provider text not null check (provider <> ''),
	region text not null,
	zone text not null,
	instance_type text not null,
	accelerator text not null,
	count_milli integer not null check (count_milli > 0),
	tier text not null,
	price_kind text not null check (price_kind in ('on_demand', 'spot', 'reserved')),
	term_months integer not null check (term_months >= 0),

	is_mapped boolean not null,
	memory_gb double precision,
	vcpus double precision,
	ram_gib double precision,
	disk_gb double precision,
	interconnect text not null,
	country text not null,
	price_micros bigint check (price_micros > 0),
	upfront_micros bigint not null check (upfront_micros >= 0),
	price_basis text not null,
	original_currency text not null,
	original_amount text not null,
	availability text not null check (availability in ('unknown', 'yes', 'no')),
	quantity integer check (quantity >= 0),
	source text not null check (source <> ''),

	-- An unchanged refresh writes one row of `feed`, not fifty thousand here: an offer that follows
	-- its feed was last seen when the feed was. Others (bundled prices, a row that the guard holds
	-- back) carry a date of their own.
	follows_feed boolean not null,
	observed_at timestamptz not null,
	first_seen_at timestamptz not null,
	last_seen_at timestamptz not null,
	withdrawn_at timestamptz,

	unique nulls not distinct (provider, region, zone, instance_type, accelerator, count_milli, tier,
		price_kind, term_months)
) with (fillfactor = 80);

-- What changed, append-only, a partition a day (UTC). It feeds the replicas' deltas and the history.
create table price_change (
	version bigint not null,
	offer_id bigint not null,
	at timestamptz not null, -- clock.as_of of that version
	event text not null check (event in ('listed', 'changed', 'withdrawn')),
	price_micros bigint,
	availability text not null,
	quantity integer
) partition by range (at);
create index on price_change (version);
create index on price_change (offer_id, at);

-- What is left of a day after its partition went: hours in which something changed.
create table price_hour (
	offer_id bigint not null,
	hour timestamptz not null,
	first_micros bigint,
	last_micros bigint,
	low_micros bigint,
	high_micros bigint,
	changes integer not null,
	primary key (offer_id, hour)
);

-- Partitions from yesterday to `ahead` days from now. ATTACH, because CREATE ... PARTITION OF would lock
-- readers out.
create function make_price_days(ahead integer) returns integer
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
	today date := (clock_timestamp() at time zone 'UTC')::date;
	name text;
	made integer := 0;
begin
	if ahead not between 0 and 60 then
		raise exception 'make_price_days: % days ahead', ahead;
	end if;
	perform pg_advisory_xact_lock(1735423344, 3);
	for day in -1 .. ahead loop
		name := 'price_change_' || to_char(today + day, 'YYYYMMDD');
		continue when to_regclass('public.' || name) is not null;
		execute format('create table public.%I (like public.price_change including all)', name);
		execute format('alter table public.price_change attach partition public.%I '
			'for values from (%L) to (%L)', name,
			(today + day)::text || ' 00:00:00+00', (today + day + 1)::text || ' 00:00:00+00');
		made := made + 1;
	end loop;
	return made;
end $$;

-- Rolls partitions older than `keep` days up into hours and drops them; deltas from before are
-- answered with everything from then on (clock.log_from).
create function drop_price_days(keep integer) returns integer
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
	oldest text := 'price_change_' ||
		to_char((clock_timestamp() at time zone 'UTC')::date - keep, 'YYYYMMDD');
	name text;
	last_version bigint;
	dropped integer := 0;
begin
	if keep < 2 then
		raise exception 'drop_price_days: keeping % days would cut readers off', keep;
	end if;
	perform pg_advisory_xact_lock(1735423344, 3);
	for name in
		select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
		where i.inhparent = 'public.price_change'::regclass and c.relname < oldest
		order by c.relname
	loop
		execute format('insert into public.price_hour '
			'select offer_id, date_trunc(''hour'', at), '
			'(array_agg(price_micros order by version))[1], '
			'(array_agg(price_micros order by version desc))[1], '
			'min(price_micros), max(price_micros), count(*) '
			'from public.%I group by 1, 2 on conflict do nothing', name);
		execute format('select max(version) from public.%I', name) into last_version;
		update clock set log_from = greatest(log_from, coalesce(last_version, log_from));
		execute format('drop table public.%I', name);
		dropped := dropped + 1;
	end loop;
	return dropped;
end $$;

revoke execute on function make_price_days(integer), drop_price_days(integer) from public;
select make_price_days(7);
