/*
 * Provider: one price feed, as a constant descriptor and pure functions.
 *
 * ingest asks request() for the next request until it says that there is none, fetches each, and hands
 * the answer to parse(); finish() (may be NULL) joins pages. The functions are pure: what they know is
 * in the feed. All I/O, retries and limits are ingest's, once. Units are converted here, once: prices
 * become micro-dollars per INSTANCE-hour, memory GB of all GPUs of the instance.
 *
 * Adding a provider is one file, one line in providers/table.c, one fixture.
 */
#ifndef SERVER_INGEST_PROVIDER_H
#define SERVER_INGEST_PROVIDER_H

#include "core/arena.h"
#include "core/error.h"
#include "core/offer.h"
#include "server/ingest/fetch.h"

/* Why a row was not taken; counted and shown. */
enum rejection {
	REJECTED_SCHEMA,   /* a field is missing or of the wrong type */
	REJECTED_NO_PRICE, /* zero, negative or absent: unknown, never cheap */
	REJECTED_PRICE,	   /* absurd for the card */
	REJECTED_MEMORY,   /* total beyond count x the card's memory */
	REJECTED_DUPLICATE,
	REJECTED_TEXT,	   /* bad UTF-8 or too long */
	REJECTED_JUMP,	   /* moved more than threefold: waits for a second refresh that agrees */
	REJECTIONS
};

extern const char *const rejection_names[REJECTIONS];

struct feed {
	struct arena *arena;
	const char *base_url; /* the provider's, or the override; without a trailing slash */
	bool base_url_is_override;
	const char *key;      /* credential, or NULL */
	int64_t now_us;

	/* How far the walk is; the provider's own, zero at first. */
	int page;		/* what is asked next */
	int pages_done;
	const char *next_url;	/* what parse() found for the next page, or NULL */
	void *state;		/* in the arena */

	struct offer *offers; /* accelerator = raw spelling; id and is_mapped not set yet */
	size_t count, capacity;
	int64_t rows_seen; /* GPU rows looked at, taken or not */
	int64_t rejected[REJECTIONS];
	char first_rejection[160]; /* what the first one looked like, for logs */
};

struct provider {
	const char *id;	    /* "runpod": stable, in URLs, metrics, database */
	const char *source; /* "runpod-graphql" */
	const char *base_url;
	const char *key_variable; /* suffix is KEY: "GPUPICK_LAMBDA_KEY"; NULL = no credential needed */
	unsigned refresh_seconds;
	size_t body_max; /* decoded bytes of one answer */
	unsigned pages_max;
	const char *last_seen_live; /* date that a live answer was last seen in this shape, or NULL */
	const char *documentation;

	/* Fills the next request; false with no error set when the walk is over. */
	bool (*request)(struct feed *feed, struct fetch_request *out, struct error *error);
	bool (*parse)(struct feed *feed, const struct fetch_request *request,
		      const struct fetch_response *response, struct error *error);
	bool (*finish)(struct feed *feed, struct error *error);
};

extern const struct provider *const providers[];
extern const size_t providers_count;

const struct provider *provider_find(const char *id);

/* A zeroed offer with the defaults of a row (unknown price, unknown availability, empty strings), or
 * NULL when memory is out. */
struct offer *feed_add(struct feed *feed);
void feed_reject(struct feed *feed, enum rejection reason, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* Decimal text to micro-dollars, exact, rounding half up past six decimals; PRICE_UNKNOWN when it is
 * no number, zero or negative. Takes a leading "$". */
int64_t price_parse(const char *text);

/* The same for a JSON number already parsed as double (floats of a feed: 0.79000000000000004). */
int64_t price_from_double(double usd);

#endif
