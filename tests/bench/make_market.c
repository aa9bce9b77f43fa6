/*
 * make_market FILE [OFFERS]: a snapshot file of about OFFERS (1,000,000) over 400 shapes made from
 * a seed, for benchmarks over HTTP; prints offers, shapes, and bytes of memory an offer.
 */
#include "server/clock.h"
#include "server/snapshot.h"
#include "tests/core/market.h"

#include <stdio.h>
#include <stdlib.h>

#define SHAPES 400
#define SHARE 74 /* of all random offers in so many of their shapes, in per cent */

int main(int argc, char **argv)
{
	size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;
	int64_t now_us = clock_wall_us();
	struct catalogue *catalogue;
	struct market market;
	struct error error;

	if (argc < 2)
		return 2;
	error_init(&error, NULL);
	catalogue = market_build_shapes(&market, count / SHARE * 100, SHAPES);
	catalogue_free(catalogue);
	for (size_t i = 0; i < market.count; i++)
		market.offers[i].observed_at_us = now_us;
	catalogue = market_build(&market);
	market_release(&market);
	if (!catalogue || !snapshot_save(catalogue, argv[1], &error)) {
		fprintf(stderr, "make_market: %s\n", catalogue ? error.detail : "not built");
		return 1;
	}
	printf("%u %u %.1f\n", catalogue->offers_count, catalogue->shapes_count,
	       (double)catalogue->arena.used / catalogue->offers_count);
	catalogue_free(catalogue);
	return 0;
}
