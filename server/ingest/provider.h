/*
 * Provider: one price feed, as a constant descriptor and pure functions.
 *
 * ingest asks request() for the next request until it says that there is none, fetches each, and
 * hands the answer to parse(); finish() (may be NULL) joins pages. The functions are pure: what
 * they know is in the feed. All I/O, retries and limits are ingest's, once. Units are converted
 * here, once: prices become micro-dollars per INSTANCE-hour, memory GB of all GPUs of the instance.
 *
 * A request that is_streamed goes to chunk() byte by byte as it comes, with `offset` 0 at the start
 * of each attempt (what an attempt that broke off had added is taken back), then to parse() with an
 * empty body, or with status 0 when it could not be had. A feed that remembers() finds its last
 * good offers and its own words of then, and may say with feed_keep() that some of them still stand
 * instead of fetching them again.
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

struct pool; /* core/pool.h */

struct feed {
	struct arena *arena;
	struct pool *texts;   /* of feed_text() */
	const char *base_url; /* the provider's, or the override; without a trailing slash */
	bool base_url_is_override;
	const char *key; /* credential, or NULL */
	int64_t now_us;
	struct exchange euro; /* for feeds that quote euros */

	/* Of a provider that remembers; else empty. */
	const struct offer *last; /* the last good set */
	size_t last_count;
	const char *memo;      /* what memo_next was then, "" at first */
	const char *memo_next; /* set by finish(), kept when the refresh is stored */

	/* How far the walk is; the provider's own, zero at first. */
	int page; /* what is asked next */
	int pages_done;
	const char *next_url; /* what parse() found for the next page, or NULL */
	void *state;	      /* in the arena */

	struct offer *offers; /* accelerator = raw spelling; id and is_mapped not set yet */
	size_t count, capacity;
	int64_t rows_seen; /* GPU rows looked at, taken or not */
	int64_t rejected[REJECTIONS];
	uint64_t *refused; /* ids of rows whose price was absurd: their last good one may stand */
	size_t refused_count;
	char first_rejection[160]; /* what the first one looked like, for logs */
	char note[160];		   /* what of a good refresh somebody should know, or "" */
	bool is_exhausted;	   /* the arena gave out: the refresh fails as a whole */
};

struct provider {
	const char *id;	    /* "runpod": stable, in URLs, metrics, database */
	const char *source; /* "runpod-graphql" */
	const char *base_url;
	const char *
		key_variable; /* suffix is KEY: "GPUPICK_LAMBDA_KEY"; NULL = no credential needed */
	unsigned bad_key_status; /* what a bad key is answered with, where not by 401 or 403 */
	unsigned refresh_seconds;
	double gap_seconds; /* least time between two requests of a walk; 0 = none */
	size_t body_max;    /* decoded bytes of one answer */
	unsigned pages_max;
	const char *const
		*pages; /* names of its page kinds, by fetch_request.page; NULL at the end */
	const char
		*last_seen_live; /* date that a live answer was last seen in this shape, or NULL */
	const char *documentation;
	bool needs_euro;	   /* ingest looks the exchange rate up before the walk */
	bool is_spot_only;	   /* bundled prices of the provider stay beside it */
	const char *superseded_by; /* source of a better feed: with its key this one does not run */
	bool remembers;		   /* see struct feed: last, memo */

	/* Fills the next request; false with no error set when the walk is over. */
	bool (*request)(struct feed *feed, struct fetch_request *out, struct error *error);
	bool (*parse)(struct feed *feed, const struct fetch_request *request,
		      const struct fetch_response *response, struct error *error);
	bool (*finish)(struct feed *feed, struct error *error);

	/* Streamed requests only; NULL when it has none. */
	bool (*chunk)(struct feed *feed, const struct fetch_request *request, size_t offset,
		      const char *bytes, size_t length, struct error *error);
	int streamed_page;     /* which of its pages those are */
	size_t stream_max;     /* decoded bytes of one streamed answer */
	double stream_seconds; /* the longest that one may take */
};

extern const struct provider *const providers[];
extern const size_t providers_count;

/* Is it called so, by its id or by its source? `name` need not be terminated. */
bool provider_is_called(const struct provider *provider, const char *name, size_t length);

/* By its id, or by its source where a provider has several feeds; of one id the first. */
const struct provider *provider_find(const char *name);

/* An offer with the defaults of a row: unknown price, unknown availability, empty strings, one GPU.
 */
struct offer feed_offer(const struct feed *feed);

/* One more row, with those defaults, or NULL when memory is out. */
struct offer *feed_add(struct feed *feed);

/* One more row that is a copy of `base`, or NULL when memory is out. */
struct offer *feed_copy(struct feed *feed, const struct offer *base);

/* Takes the last good offers of a region over: as seen now when the feed says that they stand, with
 * their old date when it could not be asked. */
void feed_keep(struct feed *feed, const char *region, bool is_confirmed);

/* Sets a price quoted in euros: what was quoted is kept, the rate and its day stand in price_basis.
 * Without a rate the price is unknown: a rate is never guessed. `amount` as quoted. */
void feed_price_euro(struct feed *feed, struct offer *offer, int64_t euro_micros,
		     const char *amount);

/* A copy in the feed's arena; "" for NULL and when memory is out. */
const char *feed_text(struct feed *feed, const char *text);

/* RFC 3339 or a plain date as microseconds since 1970 UTC; -1 when it is neither. */
int64_t feed_time(const char *text);

/* Such a time as text, in the feed's arena. */
const char *feed_time_text(struct feed *feed, int64_t wall_us);

void feed_reject(struct feed *feed, enum rejection reason, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* "no_price 2, schema 1": what was refused, by reason; "" when nothing was. */
#define FEED_REJECTIONS_TEXT 200
const char *feed_rejections(const struct feed *feed, char *out, size_t size);

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
