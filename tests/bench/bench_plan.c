/*
 * What one recommendation costs in CPU, against the number of offers and of shapes.
 *
 *   bench_plan [LARGEST]     offers from 10,000 up to LARGEST (default 1,000,000)
 *
 * Every figure is the median of repeated runs in process CPU time, over a handful of workloads,
 * first as asked (with the search for remedies where one is due) and then for planning alone.
 * Markets are made from a seed, so that only the machine differs between runs.
 */
#include "tests/core/market.h"

#include "core/recommend_parts.h"

#include <stdio.h>
#include <stdlib.h>
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

typedef bool answer_function(const struct recommend_request *, const struct catalogue *, int64_t,
			     struct arena *, struct recommend_answer *, struct error *);

/* Median CPU milliseconds of one answer. */
static double measure(answer_function *answer_with, const struct recommend_request *request,
		      const struct catalogue *catalogue, struct recommend_answer *answer)
{
	double times[RUNS];

	for (int i = 0; i < RUNS; i++) {
		struct arena arena;
		struct error error;
		double start = cpu_seconds();

		arena_init(&arena, (size_t)64 << 20);
		error_init(&error, &arena);
		if (!answer_with(request, catalogue, MARKET_NOW_US, &arena, answer, &error)) {
			fprintf(stderr, "%s\n", error.detail);
			exit(1);
		}
		arena_release(&arena);
		times[i] = 1e3 * (cpu_seconds() - start);
	}
	qsort(times, RUNS, sizeof(times[0]), compare);
	return times[RUNS / 2];
}

/* Planning every shape once, in milliseconds. */
static double measure_plans(const struct recommend_request *request,
			    const struct catalogue *catalogue)
{
	double times[RUNS];

	for (int i = 0; i < RUNS; i++) {
		static struct plan_basis basis;
		static struct plan_set set;
		double start = cpu_seconds();

		plan_prepare(&request->workload, &basis);
		for (uint32_t j = 0; j < catalogue->shapes_count; j++)
			plan_shape(&basis, &catalogue->shapes[j], recommend_max_nodes(request),
				   &set);
		times[i] = 1e3 * (cpu_seconds() - start);
	}
	qsort(times, RUNS, sizeof(times[0]), compare);
	return times[RUNS / 2];
}

static const struct {
	const char *name, *model, *fields;
	int max_nodes;
} cases[] = {
	{"qlora 70B", "meta-llama/Llama-3.1-70B",
	 "task=finetune method=qlora sequence_length=2048 micro_batch=1 total_tokens=50000000", 0},
	{"full 70B", "meta-llama/Llama-3.1-70B", "task=finetune method=full total_tokens=100000000",
	 0},
	{"serve 8B, 32 at 8k", "meta-llama/Llama-3.1-8B",
	 "task=inference prompt_tokens=7936 output_tokens=256 concurrency=32", 0},
	{"serve 8B, 5 a second", "meta-llama/Llama-3.1-8B",
	 "task=inference prompt_tokens=1000 output_tokens=300 requests_per_second=5", 0},
	{"pretrain 70B, 16 nodes", "meta-llama/Llama-3.1-70B",
	 "task=pretrain stack=megatron total_tokens=1000000000000", 16},
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

static void measure_market(size_t offers)
{
	static const char *const countries[] = {"FR"};
	struct market market;
	struct catalogue *catalogue;
	struct recommend_answer answer;
	double start;

	market_init(&market, offers);
	market_add_random(&market, offers, 1);
	start = cpu_seconds();
	catalogue = market_build(&market);
	if (!catalogue)
		exit(1);
	printf("%zu offers, %u shapes, %u lists; built in %.0f ms\n", offers,
	       catalogue->shapes_count, catalogue->lists_count, 1e3 * (cpu_seconds() - start));
	for (size_t i = 0; i < CASES; i++) {
		struct recommend_request request = request_of(i);
		double plans = measure_plans(&request, catalogue);
		double once = measure(recommend_once, &request, catalogue, &answer);
		double whole = measure(recommend, &request, catalogue, &answer);
		double filtered;

		request.filters.countries = countries;
		request.filters.countries_count = 1;
		filtered = measure(recommend_once, &request, catalogue, &answer);
		printf("  %-24s plans %7.3f  answer %7.3f  with remedies %7.3f  one country %7.3f "
		       "ms\n",
		       cases[i].name, plans, once, whole, filtered);
	}
	catalogue_free(catalogue);
	market_release(&market);
}

int main(int count, char **arguments)
{
	size_t largest = count > 1 ? strtoul(arguments[1], NULL, 10) : 1000000;

	for (size_t offers = 10000; offers <= largest; offers *= 10)
		measure_market(offers);
	return 0;
}
