/*
 * The history of one offer: see server/history.h.
 *
 * The parent of the partitions is locked (ACCESS SHARE) before the first look: a roll-up, which
 * drops a partition and so needs it alone, is then seen whole or not at all. A transaction's own
 * snapshot would not do: it hides the new hours, but not that their partition is gone.
 */
#include "server/store/offers.h"

#include "server/clock.h"

#include <stdio.h>
#include <string.h>

static bool take_state(PGresult *result, struct history *history, struct error *error)
{
	bool is_there;

	if (!result)
		return false;
	is_there = PQntuples(result) == 1;
	if (is_there) {
		snprintf(history->epoch, sizeof(history->epoch), "%s", cell_text(result, 0, 0));
		history->version = cell_integer(result, 0, 1);
		history->changes_from_us = cell_time(result, 0, 2);
		history->hours_from_us = cell_time(result, 0, 3);
		history->days_from_us = cell_time(result, 0, 4);
	}
	PQclear(result);
	return is_there ||
	       error_set(error, ERROR_STORE, "the tables `clock` and `history` are empty");
}

/* Unknown spellings cannot be: the column is checked. */
static int place_of(const struct names *names, const char *text)
{
	int place = names_find(names, text);

	return place < 0 ? 0 : place;
}

static int64_t cell_price(const PGresult *result, int row, int column)
{
	return cell_is_null(result, row, column) ? PRICE_UNKNOWN
						 : cell_integer(result, row, column);
}

static int32_t cell_quantity(const PGresult *result, int row, int column)
{
	return cell_is_null(result, row, column) ? -1 : (int32_t)cell_integer(result, row, column);
}

/* An offer that is a company's own now is not known, and one that was is known from the end of that
 * on. A step in which it ended is left out as a whole. */
static void keep_private(struct history *history, bool is_private, int64_t until_us)
{
	history->is_known = !is_private;
	if (until_us <= history->after_us)
		return;
	history->after_us = until_us - 1;
	history->after_sequence = INT64_MAX;
	if (history->offer.first_seen_us < until_us)
		history->offer.first_seen_us = until_us;
}

static bool take_offer(PGresult *result, struct history *history, struct arena *arena,
		       struct error *error)
{
	struct offer *offer = &history->offer;
	const char **texts[] = {&offer->provider,      &offer->region,	    &offer->zone,
				&offer->instance_type, &offer->accelerator, &offer->tier};
	bool failed = false;

	if (!result)
		return false;
	history->is_known = PQntuples(result) == 1;
	if (history->is_known) {
		offer->id = history->offer_id;
		for (int i = 0; i < 6; i++) {
			*texts[i] = arena_strdup(arena, cell_text(result, 0, i));
			failed |= !*texts[i];
		}
		offer->count_milli = (int32_t)cell_integer(result, 0, 6);
		offer->price_kind =
			(enum price_kind)place_of(&price_kind_names, cell_text(result, 0, 7));
		offer->term_months = (int32_t)cell_integer(result, 0, 8);
		offer->is_mapped = cell_bool(result, 0, 9);
		offer->first_seen_us = cell_time(result, 0, 10);
		offer->withdrawn_at_us = cell_time(result, 0, 11);
		if (history->is_public)
			keep_private(history, cell_bool(result, 0, 12), cell_time(result, 0, 13));
	}
	PQclear(result);
	return !failed || error_set(error, ERROR_STORE, "no memory for the offer");
}

static bool read_offer(struct store *store, struct history *history, struct arena *arena,
		       int timeout_ms, struct error *error)
{
	struct parameters parameters;
	PGresult *result;

	parameters_init(&parameters);
	parameters_integer(&parameters, (int64_t)history->offer_id);
	result = connection_query(
		store,
		"select provider, region, zone, instance_type, accelerator, tier,"
		" count_milli, price_kind, term_months, is_mapped, first_seen_at,"
		" withdrawn_at, " OFFERS_IS_PRIVATE("o") ", private_until"
							 " from offer o where id = $1",
		&parameters, timeout_ms, error);
	parameters_release(&parameters);
	return take_offer(result, history, arena, error);
}

/*
 * What is kept of the offer, whatever it is kept as, that overlaps [$2, $3): a change, an hour, a
 * day. $4 and $5 are the time and the sequence behind which to begin; they narrow the index scans.
 */
#define PIECES                                                                                     \
	"select at as start, version as sequence, 0 as kept_as, 1 as changes,"                     \
	" price_micros as first_micros, price_micros as last_micros,"                              \
	" price_micros as low_micros, price_micros as high_micros,"                                \
	" event, availability, quantity"                                                           \
	" from price_change where offer_id = $1 and at >= greatest($2, $4)"                        \
	" and ($3::timestamptz is null or at < $3) and (at, version) > ($4, $5)"                   \
	" union all select hour, 0, 1, changes, first_micros, last_micros, low_micros,"            \
	" high_micros, last_event, last_availability, last_quantity"                               \
	" from price_hour where offer_id = $1 and hour > $2 - interval '1 hour' and hour > $4"     \
	" and ($3::timestamptz is null or hour < $3)"                                              \
	" union all select day, 0, 2, changes, first_micros, last_micros, low_micros,"             \
	" high_micros, last_event, last_availability, last_quantity"                               \
	" from price_day where offer_id = $1 and day > $2 - interval '1 day' and day > $4"         \
	" and ($3::timestamptz is null or day < $3)"

#define ITEMS                                                                                      \
	"select start, sequence, kept_as, changes::bigint, first_micros, last_micros, low_micros," \
	" high_micros, event, availability, quantity from (" PIECES ") piece"                      \
	" order by start, sequence limit $6"

/* $7 is "hour", "day" or "week". What is in the step that was told last is left out here. */
#define STEPS                                                                                      \
	"select date_trunc($7, start, 'UTC') as step, 0::bigint, max(kept_as),"                    \
	" sum(changes)::bigint,"                                                                   \
	" (array_agg(first_micros order by start, sequence))[1],"                                  \
	" (array_agg(last_micros order by start desc, sequence desc))[1],"                         \
	" min(low_micros), max(high_micros),"                                                      \
	" (array_agg(event order by start desc, sequence desc))[1],"                               \
	" (array_agg(availability order by start desc, sequence desc))[1],"                        \
	" (array_agg(quantity order by start desc, sequence desc))[1]"                             \
	" from (" PIECES ") piece where date_trunc($7, start, 'UTC') > $4"                         \
	" group by 1 order by 1 limit $6"

/* At least the step that was asked for: what is kept by the day cannot be told by the hour. */
static enum history_step coarser(enum history_step asked, int64_t kept_as)
{
	return (int64_t)asked > kept_as ? asked : (enum history_step)kept_as;
}

static bool take_items(PGresult *result, struct history *history, struct arena *arena,
		       struct error *error)
{
	int rows;

	if (!result)
		return false;
	rows = PQntuples(result);
	history->has_more = (size_t)rows > history->limit;
	history->count = history->has_more ? history->limit : (size_t)rows;
	history->items = arena_array(arena, history->count, sizeof(*history->items));
	for (int i = 0; history->items && i < (int)history->count; i++)
		history->items[i] = (struct history_item){
			.at_us = cell_time(result, i, 0),
			.sequence = cell_integer(result, i, 1),
			.step = coarser(history->step, cell_integer(result, i, 2)),
			.changes = cell_integer(result, i, 3),
			.first_micros = cell_price(result, i, 4),
			.last_micros = cell_price(result, i, 5),
			.low_micros = cell_price(result, i, 6),
			.high_micros = cell_price(result, i, 7),
			.event = (enum history_event)place_of(&history_event_names,
							      cell_text(result, i, 8)),
			.availability = (enum availability)place_of(&availability_names,
								    cell_text(result, i, 9)),
			.quantity = cell_quantity(result, i, 10),
		};
	PQclear(result);
	return history->items || error_set(error, ERROR_STORE, "no memory for the history");
}

static bool read_items(struct store *store, struct history *history, struct arena *arena,
		       int timeout_ms, struct error *error)
{
	const bool has_steps = history->step != HISTORY_CHANGE;
	struct parameters parameters;
	PGresult *result;

	parameters_init(&parameters);
	parameters_integer(&parameters, (int64_t)history->offer_id);
	/* 0 would be NULL; no change is from 1970. */
	parameters_time(&parameters, history->from_us > 0 ? history->from_us : 1);
	parameters_time(&parameters, history->to_us);
	parameters_time(&parameters, history->after_us > 0 ? history->after_us : 1);
	parameters_integer(&parameters, history->after_sequence);
	parameters_integer(&parameters, (int64_t)history->limit + 1);
	if (has_steps)
		parameters_text(&parameters, names_text(&history_step_names, (int)history->step));
	result = connection_query(store, has_steps ? STEPS : ITEMS, &parameters, timeout_ms, error);
	parameters_release(&parameters);
	return take_items(result, history, arena, error);
}

bool store_read_history(struct store *store, struct history *history, struct arena *arena,
			int timeout_ms, struct error *error)
{
	bool done;

	if (!connection_begin(store, TRANSACTION_READ, timeout_ms, error))
		return false;
	done = connection_run(store, "lock table price_change in access share mode", NULL,
			      timeout_ms, NULL, error) &&
	       take_state(connection_query(store,
					   "select epoch::text, version, changes_from, hours_from,"
					   " days_from from clock, history",
					   NULL, timeout_ms, error),
			  history, error) &&
	       read_offer(store, history, arena, timeout_ms, error) &&
	       (!history->is_known || read_items(store, history, arena, timeout_ms, error));
	if (done)
		return connection_commit(store, error);
	connection_rollback(store);
	return false;
}
