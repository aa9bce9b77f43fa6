/*
 * make_snapshot FILE [VERSION [plain | private | LIST.csv]]: the bundled prices as a snapshot file,
 * for tests that need a catalogue and no database. Beside them, one offer of each kind that real
 * feeds also have: an unmapped card, a price that is not known, a slice of a card, a reserved term,
 * what is sold out, text that a spreadsheet would run. `plain` leaves these out; `private` adds a
 * company's own prices; a list (see price_list.h) takes the place of all of it.
 */
#include "server/clock.h"
#include "server/ingest/bundled.h"
#include "server/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OFFERS_MAX 4096
#define LIST_BYTES_MAX 65536
#define NOW_US INT64_C(1785500000000000)

static struct offer offers[OFFERS_MAX];
static struct provider_status statuses[64];
static size_t offers_count, statuses_count;

static void add(struct offer offer)
{
	offer.first_seen_us = offer.last_seen_us = offer.observed_at_us;
	offer.id = offer_id(&offer);
	if (offers_count < OFFERS_MAX)
		offers[offers_count++] = offer;
}

static struct offer plain(const char *type, const char *accelerator, int32_t count_milli,
			  int64_t micros)
{
	return (struct offer){.provider = "runpod",
			      .region = "US-TX-3",
			      .zone = "",
			      .instance_type = type,
			      .accelerator = accelerator,
			      .count_milli = count_milli,
			      .tier = "secure",
			      .is_mapped = true,
			      .interconnect = "",
			      .country = "US",
			      .price_micros = micros,
			      .price_basis = "instance",
			      .original_currency = "USD",
			      .original_amount = "",
			      .availability = AVAILABILITY_YES,
			      .quantity = 3,
			      .source = "runpod-graphql",
			      .observed_at_us = NOW_US - 90 * US_PER_SECOND};
}

static void add_special(void)
{
	struct offer offer = plain("unmapped", "H900 Ultra", 1000, 1230000);

	offer.is_mapped = false;
	add(offer);
	offer = plain("unpriced", "H100 PCIe 80GB", 1000, PRICE_UNKNOWN);
	offer.availability = AVAILABILITY_UNKNOWN;
	offer.quantity = -1;
	add(offer);
	add(plain("slice", "A10 24GB", 500, 310000));
	offer = plain("spot", "H100 SXM5 80GB", 8000, 12345678);
	offer.price_kind = PRICE_SPOT;
	add(offer);
	offer = plain("reserved", "H100 SXM5 80GB", 8000, 15000001);
	offer.price_kind = PRICE_RESERVED;
	offer.term_months = 12;
	offer.region = "MARS-1"; /* where nobody knows it to be */
	offer.country = "";
	add(offer);
	add(plain("=cmd|' /C calc'!A0", "L4 24GB", 1000, 430000));
	add(plain(" +1;=1+1\t@x", "L4 24GB", 1000, 440000));
	/* Sold out, cheaper and dearer than the rest of its list. */
	offer = plain("sold-out", "L4 24GB", 1000, 10000);
	offer.availability = AVAILABILITY_NO;
	add(offer);
	offer = plain("sold-out-dear", "L4 24GB", 1000, 990000000);
	offer.availability = AVAILABILITY_NO;
	add(offer);
}

/* What only callers with the scope may see: cheap enough to lead every list. */
static void add_private(void)
{
	struct offer offer = plain("rack-1", "H100 SXM5 80GB", 8000, 1000000);

	offer.provider = "pool";
	offer.region = "cellar";
	offer.source = OFFER_SOURCE_OWN "pool.csv";
	add(offer);
	offer.instance_type = "rack-2";
	offer.accelerator = "H901 Own";
	offer.is_mapped = false;
	add(offer);
	offer = plain("negotiated", "H100 SXM5 80GB", 8000, 1100000);
	offer.provider = "aws";
	offer.source = OFFER_SOURCE_OWN "aws.csv";
	add(offer);
	offer = plain("discounted", "H100 SXM5 80GB", 8000, 1200000);
	offer.price_basis = "instance, 12.5 %" OFFER_BASIS_DISCOUNTED;
	add(offer);
	statuses[statuses_count++] = (struct provider_status){.provider = "pool",
							      .source = OFFER_SOURCE_OWN "pool.csv",
							      .outcome = "ok",
							      .detail = "",
							      .last_attempt_us = NOW_US,
							      .last_success_us = NOW_US,
							      .refresh_seconds = 3600,
							      .rows_seen = 2,
							      .rows_accepted = 2,
							      .is_stale = true};
}

static bool add_lists(const struct price_list *list, const char *source)
{
	bool is_bundled = strcmp(source, "bundled") == 0;

	for (; list; list = list->next) {
		if (list->report.rejected) {
			fprintf(stderr, "make_snapshot: %s: %s\n", list->provider,
				list->feed.first_rejection);
			return false;
		}
		for (size_t i = 0; i < list->feed.count; i++)
			add(list->feed.offers[i]);
		if (statuses_count < 64)
			statuses[statuses_count++] = (struct provider_status){
				.provider = list->provider,
				.source = source,
				.outcome = "ok",
				.detail = "",
				.last_attempt_us = NOW_US - 3600 * US_PER_SECOND,
				.last_success_us = NOW_US - 3600 * US_PER_SECOND,
				.refresh_seconds = 3600,
				.rows_seen = list->feed.rows_seen,
				.rows_accepted = list->report.accepted,
				.is_stale = is_bundled && strcmp(list->provider, "aws") == 0};
	}
	return true;
}

static bool add_bundled(struct arena *arena, struct error *error)
{
	struct price_list *list;

	return bundled_read(arena, &list, error) && add_lists(list, "bundled");
}

static bool add_file(const char *path, struct arena *arena, struct error *error)
{
	static char text[LIST_BYTES_MAX];
	const struct price_list_options options = {
		.source = "list", .tier = "", .now_us = clock_wall_us()};
	struct price_list *list;
	FILE *file = fopen(path, "rb");
	size_t length;

	if (!file)
		return error_set(error, ERROR_UNAVAILABLE, "cannot open %s", path);
	length = fread(text, 1, sizeof(text), file);
	fclose(file);
	return price_list_read(text, length, &options, arena, &list, error) &&
	       add_lists(list, options.source);
}

int main(int argc, char **argv)
{
	static const struct unmapped unmapped[] = {{.provider = "runpod",
						    .spelling = "H900 Ultra",
						    .rows = 1,
						    .first_seen_us = NOW_US,
						    .last_seen_us = NOW_US},
						   {.provider = "pool",
						    .spelling = "H901 Own",
						    .rows = 1,
						    .first_seen_us = NOW_US,
						    .last_seen_us = NOW_US,
						    .is_private = true}};
	bool is_private = argc > 3 && strcmp(argv[3], "private") == 0;
	bool is_plain = argc > 3 && !is_private; /* no special offers, prices of now */
	bool is_list = is_plain && strcmp(argv[3], "plain") != 0;
	struct catalogue *catalogue = NULL;
	struct arena arena;
	struct error error;

	if (argc < 2)
		return 2;
	arena_init(&arena, (size_t)256 << 20);
	error_init(&error, &arena);
	if (is_list ? add_file(argv[3], &arena, &error) : add_bundled(&arena, &error)) {
		if (!is_plain)
			add_special();
		if (is_private)
			add_private();
		catalogue = catalogue_build(
			&(struct catalogue_input){.epoch = "5f0c0f6a-93a1-4c0e-8d0e-7b1c2d3e4f50",
						  .version = argc > 2 ? atoll(argv[2]) : 7,
						  .changes_from = argc > 2 ? atoll(argv[2]) : 7,
						  .as_of_us = is_plain ? clock_wall_us() : NOW_US,
						  .built_at_us = NOW_US,
						  .offers = offers,
						  .offers_count = offers_count,
						  .providers = statuses,
						  .providers_count = statuses_count,
						  .unmapped = unmapped,
						  .unmapped_count = is_plain	 ? 0
								    : is_private ? 2
										 : 1},
			&error);
	}
	if (!catalogue || !snapshot_save(catalogue, argv[1], &error)) {
		fprintf(stderr, "make_snapshot: %s\n", error.detail);
		return 1;
	}
	printf("%zu offers\n", offers_count);
	catalogue_free(catalogue);
	arena_release(&arena);
	return 0;
}
