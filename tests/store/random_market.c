/*
 * A market that changes at random, for pollers to follow: writes to the database as the ingest
 * leader does.
 *
 *     random_market SEED
 *
 * For each line "COUNT" on standard input it makes COUNT changes of one provider's offers in one
 * refresh, and prints the version that it brought. GPUPICK_DATABASE_URL names the database, which
 * it migrates first.
 */
#include "server/clock.h"
#include "tests/store/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROVIDERS 4
#define OFFERS 150

static uint64_t seed;

struct seller {
	const char *provider, *source;
	struct offer offers[OFFERS];
	bool is_on_sale[OFFERS];
};

static struct seller sellers[PROVIDERS] = {{.provider = "runpod", .source = "runpod-test"},
					   {.provider = "lambda", .source = "lambda-test"},
					   {.provider = "vast", .source = "vast-test"},
					   {.provider = "own", .source = "file:own.csv"}};

/* xorshift: the same market for the same seed. */
static unsigned roll(unsigned sides)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % sides;
}

static const char *country(void)
{
	static const char *const countries[] = {"US", "DE", ""};

	return countries[roll(3)];
}

static void open_market(struct arena *arena)
{
	static const char *const cards[] = {"H100 SXM5 80GB", "A100 SXM4 80GB", "L40S 48GB",
					    "Odd Card 7"};

	for (unsigned i = 0; i < PROVIDERS; i++) {
		for (int n = 0; n < OFFERS; n++) {
			struct offer *offer = &sellers[i].offers[n];

			*offer = fixture_offer(arena, sellers[i].provider, n,
					       1000000 + 10000 * (int64_t)roll(800));
			offer->accelerator = cards[n % 4];
			offer->is_mapped = n % 4 != 3;
			offer->country = country();
			offer->id = offer_id(offer);
			sellers[i].is_on_sale[n] = roll(2);
		}
	}
}

static void change_one(struct seller *seller)
{
	unsigned n = roll(OFFERS);
	struct offer *offer = &seller->offers[n];

	switch (roll(6)) {
	case 0:
		seller->is_on_sale[n] = !seller->is_on_sale[n];
		break;
	case 1:
		offer->availability = (enum availability)roll(AVAILABILITIES);
		break;
	case 2:
		offer->country = country();
		break;
	case 3:
		offer->price_micros = roll(8) ? offer->price_micros : PRICE_UNKNOWN;
		break;
	default:
		offer->price_micros = 1000000 + 10000 * (int64_t)roll(800);
		break;
	}
}

static int64_t apply(struct store *store, struct seller *seller)
{
	static struct offer on_sale[OFFERS];
	struct store_refresh refresh = {.provider = seller->provider,
					.source = seller->source,
					.offers = on_sale,
					.observed_at_us = clock_wall_us(),
					.replaces_bundled = true};
	struct store_outcome outcome;
	struct error error;

	error_init(&error, NULL);
	for (int n = 0; n < OFFERS; n++) {
		if (!seller->is_on_sale[n])
			continue;
		on_sale[refresh.offers_count] = seller->offers[n];
		on_sale[refresh.offers_count++].source = seller->source;
	}
	if (!store_apply(store, &refresh, &outcome, &error)) {
		fprintf(stderr, "random_market: %s\n", error.detail);
		exit(1);
	}
	return outcome.version;
}

int main(int argc, char **argv)
{
	const char *url = getenv("GPUPICK_DATABASE_URL");
	struct store *store = url ? store_new(url, "random market") : NULL;
	struct migration_report report;
	struct arena arena;
	struct error error;
	char line[32];
	bool is_leader = false;

	error_init(&error, NULL);
	if (argc != 2 || !store || !store_migrate(store, &report, &error) ||
	    !store_lead(store, &is_leader, &error) || !is_leader) {
		fprintf(stderr, "random_market: %s\n", error.detail);
		return 1;
	}
	seed = strtoull(argv[1], NULL, 10) * 2 + 1;
	arena_init(&arena, (size_t)64 << 20);
	open_market(&arena);
	for (int i = 0; i < PROVIDERS; i++)
		apply(store, &sellers[i]);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		struct seller *seller = &sellers[roll(PROVIDERS)];

		for (long left = strtol(line, NULL, 10); left > 0; left--)
			change_one(seller);
		printf("%lld\n", (long long)apply(store, seller));
		fflush(stdout);
	}
	store_free(store);
	arena_release(&arena);
	return 0;
}
