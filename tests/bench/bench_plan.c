/*
 * What one recommendation costs in CPU, against the number of shapes and of offers.
 *
 *   bench_plan [LARGEST [CASE]]  offers from 10,000 up to LARGEST (default 1,000,000); CASE, the
 *                                start of a name: whole new answers to that one alone
 *
 * Every figure is the median of repeated runs in process CPU time: planning alone against shapes;
 * whole answers to new workloads over 400 shapes, remedies included, the mean of ten ordinary ones
 * and the dearest of some that are hard; then against offers an answer to a workload that is new
 * and to one whose plans are kept, and under the dearest of several filters. Markets are made from
 * a seed, so that only the machine differs between runs.
 */
#include "tests/core/market.h"

#include "core/plan_table.h"
#include "core/recommend_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS 15

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(double *times)
{
	qsort(times, RUNS, sizeof(times[0]), compare);
	return times[RUNS / 2];
}

/* Keeps whatever it is given, as server/kept does. */
struct bench_keeper {
	struct plan_table *tables[64];
	int count;
};

static bool is_same(const struct plan_key *a, const struct plan_key *b)
{
	return a->hash == b->hash && a->length == b->length &&
	       memcmp(a->bytes, b->bytes, a->length) == 0;
}

static const struct plan_table *find(void *context, const struct plan_key *key, void **handle)
{
	struct bench_keeper *keeper = context;

	*handle = NULL;
	for (int i = 0; i < keeper->count; i++)
		if (is_same(&keeper->tables[i]->key, key))
			return keeper->tables[i];
	return NULL;
}

static void release(void *context, void *handle)
{
	(void)context;
	(void)handle;
}

static void keep(void *context, struct plan_table *table)
{
	struct bench_keeper *keeper = context;

	if (keeper->count == 64) {
		plan_table_free(table);
		return;
	}
	keeper->tables[keeper->count++] = table;
}

static void forget(struct bench_keeper *keeper)
{
	while (keeper->count > 0)
		plan_table_free(keeper->tables[--keeper->count]);
}

typedef bool answer_function(const struct recommend_request *, const struct catalogue *, int64_t,
			     struct arena *, struct recommend_answer *, struct error *);

/* Median CPU milliseconds of one answer. */
static double measure(answer_function *answer_with, const struct recommend_request *request,
		      const struct catalogue *catalogue)
{
	double times[RUNS];

	for (int i = 0; i < RUNS; i++) {
		struct recommend_answer answer;
		struct arena arena;
		struct error error;
		double start = cpu_seconds();

		arena_init(&arena, (size_t)64 << 20);
		error_init(&error, &arena);
		if (!answer_with(request, catalogue, MARKET_NOW_US, &arena, &answer, &error)) {
			fprintf(stderr, "%s\n", error.detail);
			exit(1);
		}
		arena_release(&arena);
		times[i] = 1e3 * (cpu_seconds() - start);
	}
	return median(times);
}

/* Ten ordinary requests, then what is hard. */
#define ORDINARY 10

static const struct {
	const char *name, *model, *fields;
	int max_nodes;
} cases[] = {
	{"serve 8B, 32 at 8k", "meta-llama/Llama-3.1-8B",
	 "task=inference prompt_tokens=7936 output_tokens=256 concurrency=32", 0},
	{"serve 8B, 5 a second", "meta-llama/Llama-3.1-8B",
	 "task=inference prompt_tokens=1000 output_tokens=300 requests_per_second=5", 0},
	{"serve 70B, 2 a second in 2 s", "meta-llama/Llama-3.1-70B",
	 "task=inference prompt_tokens=2000 output_tokens=400 requests_per_second=2 "
	 "max_ttft_seconds=2",
	 0},
	{"serve 32B in batch", "Qwen/Qwen2.5-32B",
	 "task=inference mode=batch prompt_tokens=1000 output_tokens=500 requests=1000000", 0},
	{"lora 8B", "meta-llama/Llama-3.1-8B",
	 "task=finetune method=lora sequence_length=4096 total_tokens=50000000", 0},
	{"qlora 70B", "meta-llama/Llama-3.1-70B",
	 "task=finetune method=qlora sequence_length=2048 micro_batch=1 total_tokens=50000000", 0},
	{"full 8B", "meta-llama/Llama-3.1-8B", "task=finetune method=full total_tokens=100000000",
	 0},
	{"full 70B", "meta-llama/Llama-3.1-70B", "task=finetune method=full total_tokens=100000000",
	 0},
	{"pretrain 1B", "meta-llama/Llama-3.2-1B", "task=pretrain total_tokens=20000000000", 0},
	{"pretrain 8B, 4 nodes", "meta-llama/Llama-3.1-8B",
	 "task=pretrain total_tokens=100000000000", 4},
	{"serve 671B of experts", "deepseek-ai/DeepSeek-V3",
	 "task=inference prompt_tokens=4096 output_tokens=512 concurrency=64", 0},
	{"serve 671B, 20 a second", "deepseek-ai/DeepSeek-V3",
	 "task=inference prompt_tokens=4096 output_tokens=512 requests_per_second=20 "
	 "max_ttft_seconds=3 max_tpot_seconds=0.05",
	 16},
	{"pretrain 70B, 16 nodes", "meta-llama/Llama-3.1-70B",
	 "task=pretrain stack=megatron total_tokens=1000000000000", 16},
	{"pretrain 671B, 1024 nodes", "deepseek-ai/DeepSeek-V3",
	 "task=pretrain stack=megatron total_tokens=1000000000000", 1024},
	{"the same, torchtitan, 128k", "deepseek-ai/DeepSeek-V3",
	 "task=pretrain stack=torchtitan sequence_length=131072 total_tokens=1000000000000", 1024},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static struct recommend_request request_of(size_t i)
{
	struct workload workload = market_workload(cases[i].model, cases[i].fields);
	struct recommend_request request = market_request(&workload);

	request.constraints.max_nodes = cases[i].max_nodes;
	request.limit = 20;
	return request;
}

/* Cards in 1, 2, 4 and 8, those in 8 on a fabric that joins many: more of these than are sold. */
static void make_shapes(struct shape *shapes, int count)
{
	for (int i = 0; i < count; i++) {
		const struct accelerator *accelerator =
			&accelerators[(size_t)(i / 4) * 7 % accelerators_count];
		int gpus = 1 << i % 4;
		struct shape *shape = &shapes[i];

		*shape = (struct shape){.accelerator = accelerator,
					.count_milli = gpus * COUNT_MILLI_ONE,
					.ram_gib = 64 * gpus,
					.fabric = fabric_of_accelerator(accelerator, gpus)};
		if (gpus == 8) {
			shape->has_cluster = true;
			shape->fabric.cluster_link = CLUSTER_LINK_INFINIBAND;
			shape->fabric.cluster_bytes_per_second = 400e9;
		}
	}
}

/* Planning every shape once, in milliseconds. */
static double measure_plans(const struct recommend_request *request, const struct shape *shapes,
			    int count, int64_t *evaluations, int *cut)
{
	static struct plan_basis basis;
	static struct plan_set set;
	double times[RUNS];

	for (int i = 0; i < RUNS; i++) {
		double start = cpu_seconds();

		*cut = 0;
		plan_prepare(&request->workload, &basis);
		for (int j = 0; j < count; j++) {
			plan_shape(&basis, &shapes[j], recommend_max_nodes(request), &set);
			*cut += set.is_cut;
		}
		*evaluations = basis.evaluations;
		times[i] = 1e3 * (cpu_seconds() - start);
	}
	return median(times);
}

static void measure_shapes(void)
{
	static struct shape shapes[800];

	printf("Planning, ms of CPU by shapes (evaluations of a layout at 400; searches cut)\n");
	make_shapes(shapes, 800);
	for (size_t i = 0; i < CASES; i++) {
		struct recommend_request request = request_of(i);
		int64_t evaluations, at_400 = 0;
		int cut, cut_at_400 = 0;

		printf("  %-28s", cases[i].name);
		for (int count = 100; count <= 800; count *= 2) {
			printf(" %5d: %6.3f", count,
			       measure_plans(&request, shapes, count, &evaluations, &cut));
			if (count == 400) {
				at_400 = evaluations;
				cut_at_400 = cut;
			}
		}
		printf("  (%lld; %d)\n", (long long)at_400, cut_at_400);
	}
}

/* The dearest of filters that look at single offers, or leave out whole lists. */
static double measure_filters(const struct recommend_request *asked,
			      const struct catalogue *catalogue)
{
	static const char *const countries[] = {"FR"}, *const regions[] = {"region-7"},
				 *const providers[] = {"aws"};
	double worst = 0;

	for (int i = 0; i < 5; i++) {
		struct recommend_request request = *asked;
		double time;

		request.filters.countries = countries;
		request.filters.countries_count = i == 0;
		request.filters.regions = regions;
		request.filters.regions_count = i == 1;
		request.filters.providers = providers;
		request.filters.providers_count = i == 2;
		request.filters.available_only = i == 3;
		request.filters.max_age_seconds = i == 4 ? 30 : 0;
		time = measure(recommend_once, &request, catalogue);
		worst = time > worst ? time : worst;
	}
	return worst;
}

#define ANSWER_SHAPES 400
#define ANSWER_OFFERS 14000

/* Whole answers to new workloads, with remedies, against the targets. */
static void measure_answers(const char *only)
{
	struct market market;
	struct catalogue *catalogue = market_build_shapes(&market, ANSWER_OFFERS, ANSWER_SHAPES);
	double sum = 0, worst = 0;

	if (!catalogue)
		exit(1);
	printf("New workloads over %u shapes, %u offers, ms of CPU of the whole answer, remedies "
	       "included\n",
	       catalogue->shapes_count, catalogue->offers_count);
	for (size_t i = 0; i < CASES; i++) {
		struct recommend_request request = request_of(i);
		double time;

		if (only && strncmp(cases[i].name, only, strlen(only)) != 0)
			continue;
		time = measure(recommend, &request, catalogue);
		printf("  %-28s %7.3f  without remedies %7.3f\n", cases[i].name, time,
		       measure(recommend_once, &request, catalogue));
		worst = time > worst ? time : worst;
		if (i < ORDINARY)
			sum += time / ORDINARY;
	}
	if (!only)
		printf("  mean of the first %d: %.3f (target 1); dearest of all: %.3f (target 5)\n",
		       ORDINARY, sum, worst);
	catalogue_free(catalogue);
	market_release(&market);
}

/* Of a market, by case. */
struct figures {
	double fresh[CASES], filtered[CASES];
};

static void measure_market(size_t offers, struct figures *out)
{
	static struct bench_keeper kept;
	struct plan_keeper keeper = {&kept, find, release, keep};
	struct market market;
	struct catalogue *catalogue;
	double start;

	market_init(&market, offers);
	market_add_random(&market, offers, 1);
	start = cpu_seconds();
	catalogue = market_build(&market);
	if (!catalogue)
		exit(1);
	printf("%zu offers, %u shapes, %u lists; built in %.0f ms; ms of CPU an answer\n", offers,
	       catalogue->shapes_count, catalogue->lists_count, 1e3 * (cpu_seconds() - start));
	for (size_t i = 0; i < CASES; i++) {
		struct recommend_request request = request_of(i);
		double fresh = out->fresh[i] = measure(recommend_once, &request, catalogue);
		double whole = measure(recommend, &request, catalogue);
		double filtered = out->filtered[i] = measure_filters(&request, catalogue);
		double again;

		request.keeper = &keeper;
		again = measure(recommend_once, &request, catalogue);
		printf("  %-28s new %7.3f  plans kept %7.3f  dearest filter %7.3f  with remedies "
		       "%7.3f, kept %7.3f\n",
		       cases[i].name, fresh, again, filtered, whole,
		       measure(recommend, &request, catalogue));
		forget(&kept);
	}
	catalogue_free(catalogue);
	market_release(&market);
}

static void compare_markets(const struct figures *small, const struct figures *large)
{
	double ratio = 0, filtered = 0, before = 0, after = 0;

	for (size_t i = 0; i < CASES; i++) {
		ratio = fmax(ratio, large->fresh[i] / small->fresh[i]);
		filtered = fmax(filtered, large->filtered[i]);
		before += small->fresh[i];
		after += large->fresh[i];
	}
	printf("From the fewest offers to the most: %.2f times in all, %.2f the worst (target "
	       "1.2); dearest filter %.3f ms (target 10)\n",
	       after / before, ratio, filtered);
}

int main(int count, char **arguments)
{
	static struct figures small, large;
	size_t largest = count > 1 ? strtoul(arguments[1], NULL, 10) : 1000000;

	if (count > 2) {
		measure_answers(arguments[2]);
		return 0;
	}
	measure_shapes();
	measure_answers(NULL);
	measure_market(10000, &small);
	for (size_t offers = 100000; offers <= largest; offers *= 10)
		measure_market(offers, &large);
	if (largest >= 100000)
		compare_markets(&small, &large);
	return 0;
}
