-- For deltas: the version of an offer's last change, so that a replica which starts anew knows it of
-- every offer without reading the log, those that left included. 0 = before the log that is kept.
--
-- public_version is of the last change that shows where a company's own prices do not: when the row
-- is public, or was until that change. Whoever may not see private rows is told of no other.
--
-- Neither is indexed: see 0002 about volatile columns.
alter table offer
	add column version bigint not null default 0,
	add column public_version bigint not null default 0;

-- From the log, which is complete after clock.log_from. What was public before is not told there, so
-- rows that are private now count as never shown.
with last as (select offer_id, max(version) as version from price_change group by offer_id)
update offer o set version = last.version,
	public_version = case when o.source like 'file:%' or o.price_basis like '% off the list'
		then 0 else last.version end
from last where o.id = last.offer_id;

select own_objects();
