/*
 * Market: catalogues and workloads for tests and benchmarks of the core: the bundled price list,
 * small hand-made lists, and lists of any size made from a seed.
 */
#ifndef TESTS_CORE_MARKET_H
#define TESTS_CORE_MARKET_H

#include "core/catalogue.h"
#include "core/recommend.h"
#include "core/workload.h"

/* The time that tests take for now: 2026-10-01 00:00 UTC. */
#define MARKET_NOW_US INT64_C(1790812800000000)

struct market {
	struct arena arena;
	struct offer *offers;
	size_t count, capacity;
};

void market_init(struct market *market, size_t capacity);
void market_release(struct market *market);

/* Adds an on-demand offer in one region of a provider; returns it for changes before the build,
 * which computes its id. */
struct offer *market_add(struct market *market, const char *provider, const char *type,
			 const char *accelerator, double count, double usd_per_hour);

/* Every row of server/ingest/bundled.csv. */
void market_add_bundled(struct market *market);

/* `count` offers over many providers, regions and cards, from a seed. */
void market_add_random(struct market *market, size_t count, uint64_t seed);

/* NULL and a message on stderr when it cannot be built. */
struct catalogue *market_build(struct market *market);

/* Of `count` random offers those of `shapes` shapes, evenly spread over all. Initialises `market`,
 * which owns their texts. */
struct catalogue *market_build_shapes(struct market *market, size_t count, uint32_t shapes);

/* A workload of a registry model with these fields only; `fields` is "task=finetune method=qlora
 * sequence_length=2048 ...", names and values as in the API. Completed; aborts on a fault. */
struct workload market_workload(const char *model, const char *fields);

/* The same before it is completed. */
struct workload market_fields(const char *model, const char *fields);

/* A request for it without constraints and filters. */
struct recommend_request market_request(const struct workload *workload);

/* Cheap deterministic numbers (xorshift). */
uint64_t market_random(uint64_t *state);

#endif
