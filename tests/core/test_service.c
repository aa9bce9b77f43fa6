/* How a service scales, by figures made up so that the right ones can be told by hand. */
#include "core/service.h"

#include "core/offer.h"
#include "tests/suite.h"

/* So many replicas on so many nodes that answer 2 requests a second each. */
static struct plan plan_of(int replicas, int nodes)
{
	return (struct plan){.layout = {.replicas = replicas, .nodes = nodes},
			     .speed = {.ttft_seconds = 0.25},
			     .most_requests_per_second = 2.0 * replicas,
			     .utilisation = 0.5,
			     .wait_seconds = 0.125};
}

static struct workload workload_of(double rate, double peak, int64_t least)
{
	return (struct workload){.task = TASK_INFERENCE,
				 .requests_per_second = rate,
				 .peak_requests_per_second = peak,
				 .min_replicas = least};
}

/* Replicas are sized for 80 %: 1.6 a second each. */
START_TEST(levels_follow_the_rate)
{
	static const struct {
		int replicas, nodes;		   /* of the plan */
		double rate, peak;		   /* asked */
		int64_t least;			   /* replicas that stay up */
		int64_t idle, mean, peak_replicas; /* replicas */
		int64_t idle_nodes, mean_nodes, peak_nodes;
	} cases[] = {
		/* Four copies a node: 3.2 takes two of them, 40 takes 25. */
		{4, 1, 3.2, 40, 1, 1, 2, 25, 1, 1, 7},
		{4, 1, 3.2, 40, 0, 0, 2, 25, 0, 1, 7},
		{4, 2, 3.2, 40, 3, 3, 3, 25, 2, 2, 13},
		/* A copy over two nodes. */
		{2, 4, 3.0, 6.4, 1, 1, 2, 4, 2, 4, 8},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan plan = plan_of(cases[i].replicas, cases[i].nodes);
		struct workload workload =
			workload_of(cases[i].rate, cases[i].peak, cases[i].least);
		struct service service;

		ck_assert(service_of(&workload, &plan, 3000000, &service));
		ck_assert(service.has_peak);
		ck_assert_int_eq(service.idle.replicas, cases[i].idle);
		ck_assert_int_eq(service.mean.replicas, cases[i].mean);
		ck_assert_int_eq(service.peak.replicas, cases[i].peak_replicas);
		ck_assert_int_eq(service.idle.nodes, cases[i].idle_nodes);
		ck_assert_int_eq(service.mean.nodes, cases[i].mean_nodes);
		ck_assert_int_eq(service.peak.nodes, cases[i].peak_nodes);
		ck_assert_int_eq(service.peak.usd_per_hour_micros, cases[i].peak_nodes * 3000000);
	}
}
END_TEST

START_TEST(what_is_left_is_told)
{
	struct plan plan = plan_of(4, 1);
	struct workload rate = workload_of(4, 0, 1), none = workload_of(0, 0, 1);
	struct service service;

	ck_assert(service_of(&rate, &plan, 1, &service));
	ck_assert(!service.has_peak);
	ck_assert_double_eq_tol(service.spare_requests_per_second, 0.8 * 8 - 4, 1e-9);
	ck_assert_double_eq_tol(service.ttft_seconds, 0.375, 1e-9);
	ck_assert(!service_of(&none, &plan, 1, &service));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("service");
	TCase *tests = tcase_create("service");

	tcase_add_test(tests, levels_follow_the_rate);
	tcase_add_test(tests, what_is_left_is_told);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
