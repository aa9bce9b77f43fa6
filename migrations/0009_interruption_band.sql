-- How often a spot machine of the type was reclaimed in a month there, as the feed tells it with the price
-- (AWS's spot advisor): 1 = under 5 %, 2 = 5-10 %, 3 = 10-15 %, 4 = 15-20 %, 5 = over 20 %. NULL = not told.
alter table offer add column interruption_band integer check (interruption_band between 1 and 5);

select own_objects();
