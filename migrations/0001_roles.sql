-- Who may do what. gpupick_owner owns the objects, gpupick_ingest writes prices, gpupick_api reads.
-- A user without CREATEROLE still migrates: it then owns everything itself, and an administrator may
-- create the roles later and call grant_roles().
do $$
declare
	role_name text;
begin
	foreach role_name in array array['gpupick_owner', 'gpupick_ingest', 'gpupick_api'] loop
		continue when exists (select from pg_roles where rolname = role_name);
		begin
			-- Without a password nobody can log in where passwords are asked for.
			execute format('create role %I %s', role_name,
				case role_name when 'gpupick_owner' then 'nologin' else 'login' end);
			if role_name = 'gpupick_api' then
				alter role gpupick_api set default_transaction_read_only = on;
				alter role gpupick_api set idle_in_transaction_session_timeout = '60s';
			end if;
		exception
			when insufficient_privilege then
				raise notice 'role % was not created: %', role_name, sqlerrm;
			when duplicate_object or unique_violation then
				null; -- the migration of another database of this cluster was faster
		end;
	end loop;
end $$;

-- Hands what this user owns here to gpupick_owner, so that functions with the owner's rights
-- (security definer) do not run with a superuser's. Each migration that makes objects calls it.
create function own_objects() returns void
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
			and p.proname in ('own_objects', 'grant_roles', 'make_price_days', 'drop_price_days')
	loop
		execute format('alter function %s owner to gpupick_owner', object.name);
	end loop;
exception
	when insufficient_privilege then
		raise notice 'objects stay with %: %', current_user, sqlerrm;
end $$;
revoke execute on function own_objects() from public;
