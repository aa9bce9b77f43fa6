-- History: what is left of a change after its day's partition went, and for how long.
--
-- price_change keeps every change, price_hour the hours of the days that were rolled up, price_day the
-- days of the hours that were. Each step is one transaction, so that every change is in exactly one of
-- the three; `history` says where they meet.

-- NULL in rows of before: not told. `last_event`, `last_availability` and `last_quantity` are of the
-- last change of the hour, as last_micros is.
alter table price_hour
	add column last_event text check (last_event in ('listed', 'changed', 'withdrawn')),
	add column last_availability text,
	add column last_quantity integer;

create table price_day (
	offer_id bigint not null,
	day timestamptz not null, -- 00:00 UTC
	first_micros bigint,
	last_micros bigint,
	low_micros bigint,
	high_micros bigint,
	changes integer not null,
	last_event text check (last_event in ('listed', 'changed', 'withdrawn')),
	last_availability text,
	last_quantity integer,
	primary key (offer_id, day)
);

-- Retention looks for the oldest rows, which lie together: a few blocks of index for millions of rows.
create index on price_hour using brin (hour);
create index on price_day using brin (day);

-- One row, times at 00:00 UTC. Changes before changes_from are hours, those before hours_from are days.
-- The first days of a database: nothing was rolled up.
create table history (
	is_only boolean primary key default true check (is_only),
	changes_from timestamptz not null,
	hours_from timestamptz not null,
	days_from timestamptz not null
) with (fillfactor = 10);
-- What the function of before has rolled up ends where the oldest partition begins.
insert into history (changes_from, hours_from, days_from)
select edge, coalesce((select date_trunc('day', min(hour), 'UTC') from price_hour), edge),
	coalesce((select date_trunc('day', min(hour), 'UTC') from price_hour), edge)
from (select coalesce(min(to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp at time zone 'UTC'),
		date_trunc('day', clock_timestamp(), 'UTC')) as edge
	from pg_inherits i join pg_class c on c.oid = i.inhrelid
	where i.inhparent = 'public.price_change'::regclass) partitions;

-- As before, but: hours are UTC's whatever the session's time zone is (some are half an hour off); an
-- hour that is there already is added to, not dropped; and the last event is kept.
create or replace function drop_price_days(keep integer) returns integer
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
	keep_from date := (clock_timestamp() at time zone 'UTC')::date - keep;
	oldest text := 'price_change_' || to_char(keep_from, 'YYYYMMDD');
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
		execute format('insert into public.price_hour as kept '
			'select offer_id, date_trunc(''hour'', at, ''UTC''), '
			'(array_agg(price_micros order by at, version))[1], '
			'(array_agg(price_micros order by at desc, version desc))[1], '
			'min(price_micros), max(price_micros), count(*), '
			'(array_agg(event order by at desc, version desc))[1], '
			'(array_agg(availability order by at desc, version desc))[1], '
			'(array_agg(quantity order by at desc, version desc))[1] '
			'from public.%I group by 1, 2 '
			'on conflict (offer_id, hour) do update set '
			'last_micros = excluded.last_micros, '
			'low_micros = least(kept.low_micros, excluded.low_micros), '
			'high_micros = greatest(kept.high_micros, excluded.high_micros), '
			'changes = kept.changes + excluded.changes, '
			'last_event = excluded.last_event, '
			'last_availability = excluded.last_availability, '
			'last_quantity = excluded.last_quantity', name);
		execute format('select max(version) from public.%I', name) into last_version;
		update clock set log_from = greatest(log_from, coalesce(last_version, log_from));
		execute format('drop table public.%I', name);
		dropped := dropped + 1;
	end loop;
	update history set changes_from = greatest(changes_from, keep_from::timestamp at time zone 'UTC')
	where dropped > 0;
	return dropped;
end $$;

-- Rolls hours older than `keep_hours` days up into days, and forgets days older than `keep_days`. Both
-- are looked for once a day at most: the edges move by whole days.
create function drop_price_hours(keep_hours integer, keep_days integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
	today date := (clock_timestamp() at time zone 'UTC')::date;
	new_hours timestamptz := (today - keep_hours)::timestamp at time zone 'UTC';
	new_days timestamptz := (today - keep_days)::timestamp at time zone 'UTC';
	edge history;
	rolled bigint := 0;
begin
	if keep_hours < 3 or keep_days < keep_hours then
		raise exception 'drop_price_hours: hours for % days, days for %', keep_hours, keep_days;
	end if;
	perform pg_advisory_xact_lock(1735423344, 3);
	select * into strict edge from history for update;
	new_hours := least(new_hours, edge.changes_from);
	new_days := least(new_days, new_hours);
	if new_hours > edge.hours_from then
		with gone as (delete from price_hour where hour < new_hours returning *)
		insert into price_day as kept
		select offer_id, date_trunc('day', hour, 'UTC'),
			(array_agg(first_micros order by hour))[1],
			(array_agg(last_micros order by hour desc))[1],
			min(low_micros), max(high_micros), sum(changes),
			(array_agg(last_event order by hour desc))[1],
			(array_agg(last_availability order by hour desc))[1],
			(array_agg(last_quantity order by hour desc))[1]
		from gone group by 1, 2
		on conflict (offer_id, day) do update set last_micros = excluded.last_micros,
			low_micros = least(kept.low_micros, excluded.low_micros),
			high_micros = greatest(kept.high_micros, excluded.high_micros),
			changes = kept.changes + excluded.changes, last_event = excluded.last_event,
			last_availability = excluded.last_availability,
			last_quantity = excluded.last_quantity;
		get diagnostics rolled = row_count;
		update history set hours_from = new_hours;
	end if;
	if new_days > edge.days_from then
		delete from price_day where day < new_days;
		update history set days_from = new_days;
	end if;
	return rolled;
end $$;
revoke execute on function drop_price_hours(integer, integer) from public;

-- As in 0001, with the new function.
create or replace function own_objects() returns void
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
	object record;
begin
	if not exists (select from pg_roles where rolname = 'gpupick_owner') then
		return;
	end if;
	if not pg_has_role(current_user, 'gpupick_owner', 'member') then
		execute format('grant gpupick_owner to %I', current_user);
	end if;
	grant usage, create on schema public to gpupick_owner;
	for object in
		select c.oid::regclass as name from pg_class c
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
			and c.relowner = current_user::regrole
			and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass
				and d.objid = c.oid and d.deptype = 'e')
	loop
		execute format('alter table %s owner to gpupick_owner', object.name);
	end loop;
	for object in
		select p.oid::regprocedure as name from pg_proc p
		where p.pronamespace = 'public'::regnamespace and p.proowner = current_user::regrole
			and p.proname in ('own_objects', 'grant_roles', 'make_price_days', 'drop_price_days',
				'drop_price_hours')
	loop
		execute format('alter function %s owner to gpupick_owner', object.name);
	end loop;
exception
	when insufficient_privilege then
		raise notice 'objects stay with %: %', current_user, sqlerrm;
end $$;

-- As in 0003, with the new tables and function.
create or replace function grant_roles() returns void
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
	if exists (select from pg_roles where rolname = 'gpupick_ingest') then
		grant usage on schema public to gpupick_ingest;
		grant select on all tables in schema public to gpupick_ingest;
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
			ingest_run, unmapped_accelerator to gpupick_api;
	end if;
end $$;
select grant_roles();
select own_objects();
