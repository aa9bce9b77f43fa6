/*
 * Provider: one price feed, as a constant descriptor and pure functions.
 *
 * ingest asks request() for the next request until it says that there is none, fetches each, and
 * hands the answer to parse(); finish() (may be NULL) joins pages. The functions are pure: what
 * they know is in the feed. All I/O, retries and limits are ingest's, once. Units are converted
 * here, once: prices become micro-dollars per INSTANCE-hour, memory GB of all GPUs of the instance.
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
	REJECTED_TEXT, /* bad UTF-8 or too long */
	REJECTED_JUMP, /* moved more than threefold: waits for a second refresh that agrees */
	REJECTIONS
};

extern const char *const rejection_names[REJECTIONS];

/* What one unit of a currency was worth on a day, by the European Central Bank. */
struct exchange {
	int64_t usd_micros; /* 0 = not known */
	char date[11];	    /* "2026-07-23" */
};

struct feed {
	struct arena *arena;
	const char *base_url; /* the provider's, or the override; without a trailing slash */
	bool base_url_is_override;
	const char *key; /* credential, or NULL */
	int64_t now_us;
	struct exchange euro; /* for feeds that quote euros */

	/* How far the walk is; the provider's own, zero at first. */
	int page; /* what is asked next */
	int pages_done;
	const char *next_url; /* what parse() found for the next page, or NULL */
	void *state;	      /* in the arena */

	struct offer *offers; /* accelerator = raw spelling; id and is_mapped not set yet */
	size_t count, capacity;
	int64_t rows_seen; /* GPU rows looked at, taken or not */
	int64_t rejected[REJECTIONS];
	char first_rejection[160]; /* what the first one looked like, for logs */
	bool is_exhausted;	   /* the arena gave out: the refresh fails as a whole */
};

struct provider {
	const char *id;	    /* "runpod": stable, in URLs, metrics, database */
	const char *source; /* "runpod-graphql" */
	const char *base_url;
	const char *
		key_variable; /* suffix is KEY: "GPUPICK_LAMBDA_KEY"; NULL = no credential needed */
	unsigned refresh_seconds;
	size_t body_max; /* decoded bytes of one answer */
	unsigned pages_max;
	const char *const
		*pages; /* names of its page kinds, by fetch_request.page; NULL at the end */
	const char
		*last_seen_live; /* date that a live answer was last seen in this shape, or NULL */
	const char *documentation;
	bool needs_euro;   /* ingest looks the exchange rate up before the walk */
	bool is_spot_only; /* bundled prices of the provider stay beside it */

	/* Fills the next request; false with no error set when the walk is over. */
	bool (*request)(struct feed *feed, struct fetch_request *out, struct error *error);
	bool (*parse)(struct feed *feed, const struct fetch_request *request,
		      const struct fetch_response *response, struct error *error);
	bool (*finish)(struct feed *feed, struct error *error);
};

extern const struct provider *const providers[];
extern const size_t providers_count;

const struct provider *provider_find(const char *id);

/* An offer with the defaults of a row: unknown price, unknown availability, empty strings, one GPU.
 */
struct offer feed_offer(const struct feed *feed);

/* One more row, with those defaults, or NULL when memory is out. */
struct offer *feed_add(struct feed *feed);

/* One more row that is a copy of `base`, or NULL when memory is out. */
struct offer *feed_copy(struct feed *feed, const struct offer *base);

/* Sets a price quoted in euros: what was quoted is kept, the rate and its day stand in price_basis.
 * Without a rate the price is unknown: a rate is never guessed. `amount` as quoted. */
void feed_price_euro(struct feed *feed, struct offer *offer, int64_t euro_micros,
		     const char *amount);

/* A copy in the feed's arena; "" for NULL and when memory is out. */
const char *feed_text(struct feed *feed, const char *text);

/* RFC 3339 or a plain date as microseconds since 1970 UTC; -1 when it is neither. */
int64_t feed_time(const char *text);

void feed_reject(struct feed *feed, enum rejection reason, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* Decimal text to micro-dollars, exact, rounding half up past six decimals; PRICE_UNKNOWN when it
 * is no number, zero or negative. Takes a leading "$". */
int64_t price_parse(const char *text);

/* The same for a JSON number already parsed as double (floats of a feed: 0.79000000000000004). */
int64_t price_from_double(double usd);

/* A total over `parts` (hours of a term, units of a quote) as the price of one, rounded half up. */
int64_t price_divide(int64_t micros, int64_t parts);

/* The price of one GPU as that of `count`; PRICE_UNKNOWN stays so, as does what does not fit. */
int64_t price_times(int64_t micros, int64_t count);

#endif
