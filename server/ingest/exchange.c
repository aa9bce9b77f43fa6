/* Exchange: the bank's daily rate, asked for and remembered: see exchange.h. */
#include "server/ingest/exchange.h"

#include "server/clock.h"
#include "server/ingest/harvest.h"
#include "server/ingest/providers/csv.h"

#include <stdio.h>
#include <string.h>

#define BANK_URL "https://data-api.ecb.europa.eu"
#define RATE_PATH "/service/data/EXR/D.USD.EUR.SP00.A?lastNObservations=1&format=csvdata"
#define BODY_MAX ((size_t)1 << 20)
#define ATTEMPTS 3
#define PAUSE_SECONDS 1.0
#define TRY_SECONDS 300	     /* after a failure */
#define KEEP_SECONDS 21600   /* the bank tells one rate a working day */
#define STALE_SECONDS 691200 /* a week, and the holiday around it */
#define LEAST_MICROS 200000  /* outside of 0.2 to 5 USD it is no euro */
#define MOST_MICROS 5000000

bool exchange_parse(const char *csv_bytes, size_t length, struct arena *arena, struct exchange *out,
		    struct error *error)
{
	static const char *const required[] = {"TIME_PERIOD", "OBS_VALUE", NULL};
	struct csv csv;

	*out = (struct exchange){0};
	if (!csv_open(&csv, arena, csv_bytes, length, required, error))
		return false;
	while (csv_next(&csv)) {
		const char *day = csv_text(&csv, "TIME_PERIOD");
		int64_t micros = price_parse(csv_text(&csv, "OBS_VALUE"));

		/* "NaN" on a day without a rate is passed over. */
		if (strlen(day) != 10 || clock_parse(day) <= 0 || micros < LEAST_MICROS ||
		    micros > MOST_MICROS || strcmp(day, out->date) < 0)
			continue;
		out->usd_micros = micros;
		memcpy(out->date, day, sizeof(out->date));
	}
	return out->usd_micros > 0 ||
	       error_set(error, ERROR_FEED, "the list of exchange rates has no rate");
}

void exchange_init(struct exchange_cache *cache, const char *base_url)
{
	*cache = (struct exchange_cache){.base_url = base_url && *base_url ? base_url : NULL};
	pthread_mutex_init(&cache->mutex, NULL);
}

void exchange_release(struct exchange_cache *cache)
{
	pthread_mutex_destroy(&cache->mutex);
}

static bool look_up_once(const struct exchange_cache *cache, struct fetch *fetch,
			 const struct fetch_options *options, struct exchange *out,
			 struct error *error)
{
	struct fetch_options bounded = *options;
	struct fetch_response response;
	struct arena arena;
	bool ok;

	bounded.body_max = BODY_MAX;
	bounded.allow_private = cache->base_url != NULL;
	arena_init(&arena, 4 * BODY_MAX);
	const struct fetch_request request = {
		.method = "GET",
		.url = arena_printf(&arena, "%s%s", cache->base_url ? cache->base_url : BANK_URL,
				    RATE_PATH),
		.headers = {"Accept: text/csv"},
		.headers_count = 1,
		.label = "exchange",
	};
	if (!request.url)
		ok = error_set(error, ERROR_FEED, "no memory");
	else if (fetch_perform(fetch, &request, &bounded, &arena, &response, error) != FETCH_OK)
		ok = false;
	else if (response.status != 200)
		ok = error_set(error, ERROR_FEED, "exchange rate: HTTP %u", response.status);
	else
		ok = exchange_parse(response.body, response.length, &arena, out, error);
	arena_release(&arena);
	return ok;
}

static bool look_up(const struct exchange_cache *cache, struct fetch *fetch,
		    const struct fetch_options *options, struct exchange *out, struct error *error)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		if (look_up_once(cache, fetch, options, out, error))
			return true;
		if (!pause_seconds(jitter(PAUSE_SECONDS), options->stop))
			break;
	}
	return false;
}

bool exchange_euro(struct exchange_cache *cache, struct fetch *fetch,
		   const struct fetch_options *options, int64_t now_us, struct exchange *out,
		   struct error *error)
{
	struct exchange fresh;
	bool ok = true;

	pthread_mutex_lock(&cache->mutex);
	if (now_us - cache->euro_us >= KEEP_SECONDS * US_PER_SECOND &&
	    (!cache->looked_up_us || now_us - cache->looked_up_us >= TRY_SECONDS * US_PER_SECOND)) {
		cache->looked_up_us = now_us;
		ok = look_up(cache, fetch, options, &fresh, error);
		if (ok) {
			cache->euro = fresh;
			cache->euro_us = now_us;
		}
	}
	*out = cache->euro;
	pthread_mutex_unlock(&cache->mutex);
	if (out->usd_micros > 0 &&
	    now_us - clock_parse(out->date) <= STALE_SECONDS * US_PER_SECOND) {
		error_init(error, error->arena);
		return true;
	}
	if (ok)
		error_set(error, ERROR_FEED, "there is no exchange rate of the euro%s%s",
			  *out->date ? " since " : "", out->date);
	return false;
}
