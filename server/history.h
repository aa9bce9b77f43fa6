/*
 * History: what became of one offer's price. Plain data between the store, which reads it, and the
 * API, which asks for it and prints it.
 *
 * Every change is told exactly once: by itself while the log keeps it, then inside the hour it was
 * in, then inside the day (see migrations/README.md). A step of an hour, day or week gathers what
 * lies in it, whatever it is kept as.
 */
#ifndef SERVER_HISTORY_H
#define SERVER_HISTORY_H

#include "core/catalogue.h"
#include "core/names.h"
#include "core/offer.h"

enum history_step { HISTORY_CHANGE, HISTORY_HOUR, HISTORY_DAY, HISTORY_WEEK, HISTORY_STEPS };

enum history_event {
	HISTORY_UNKNOWN, /* rolled up before events were kept */
	HISTORY_LISTED,
	HISTORY_CHANGED,
	HISTORY_WITHDRAWN,
	HISTORY_EVENTS
};

extern const struct names history_step_names, history_event_names;

struct history_item {
	int64_t at_us;	  /* of the change, or the start of the step (UTC; weeks from Monday) */
	int64_t sequence; /* version of a change, which orders what has one time; 0 of others */
	enum history_step step;
	int64_t changes;
	/* Prices that the changes set, PRICE_UNKNOWN where not known: the first, the last, the
	 * least and the most of those that are. */
	int64_t first_micros, last_micros, low_micros, high_micros;
	/* Of the last change. */
	enum history_event event;
	enum availability availability;
	int32_t quantity; /* -1 = not told */
};

struct history {
	/* Asked. */
	uint64_t offer_id;
	int64_t from_us, to_us;		  /* from inclusive, to exclusive; to 0 = no end */
	enum history_step step;		  /* HISTORY_CHANGE: as it is kept */
	int64_t after_us, after_sequence; /* only items behind this one; after_us 0 = all */
	size_t limit;
	bool is_public; /* asked by who may not see a company's own prices */

	/* Read. */
	char epoch[EPOCH_TEXT];
	int64_t version;
	/* Kept singly from changes_from on, as hours from hours_from on, as days from days_from. */
	int64_t changes_from_us, hours_from_us, days_from_us;
	bool is_known; /* was on sale at some time; else nothing below is set */
	struct offer offer;
	struct history_item *items; /* in order of time and sequence */
	size_t count;
	bool has_more;
};

#endif
