/* Comparisons: ratios and winners of variants, and what has neither. */
#include "core/comparison.h"

#include "tests/suite.h"

#include <string.h>

static struct comparison found;
static struct arena arena;

static void compute(const struct comparison_variant *variants, int count)
{
	arena_release(&arena);
	arena_init(&arena, 1 << 16);
	ck_assert(comparison_compute(variants, count, &arena, &found));
}

static struct comparison_variant run_of(const char *name, double gib, double usd, double seconds)
{
	return (struct comparison_variant){.name = name,
					   .is_computed = true,
					   .is_feasible = true,
					   .memory_bytes = gib * GIB,
					   .cost_basis = COST_RUN,
					   .cost_micros = micros_from_usd(usd),
					   .time_basis = TIME_RUN,
					   .seconds = seconds};
}

START_TEST(ratios_are_to_the_first)
{
	const struct comparison_variant variants[] = {run_of("full", 80, 12, 600),
						      run_of("lora", 20, 3, 900),
						      run_of("qlora", 8, 6, 300)};

	compute(variants, 3);
	ck_assert_int_eq(found.cheapest, 1);
	ck_assert_int_eq(found.fastest, 2);
	ck_assert_int_eq(found.smallest, 2);
	ck_assert_double_eq_tol(found.ratios[0].cost, 1, 1e-12);
	ck_assert_double_eq_tol(found.ratios[1].memory, 0.25, 1e-12);
	ck_assert_double_eq_tol(found.ratios[1].cost, 0.25, 1e-12);
	ck_assert_double_eq_tol(found.ratios[1].time, 1.5, 1e-12);
	ck_assert_str_eq(found.ratios[1].text,
			 "lora needs 20.0 GiB instead of 80.0 GiB (0.250 times), costs $3.00 "
			 "instead of $12.00 (0.250 times) and takes 15 min instead of 10 min "
			 "(1.500 times).");
	ck_assert_str_eq(found.text, "Cheapest: lora. Fastest: qlora. Least memory: qlora.");
}
END_TEST

/* A month's bill, a run's and a price a million tokens have no order. */
START_TEST(bases_are_not_mixed)
{
	struct comparison_variant variants[] = {run_of("run", 80, 12, 600),
						run_of("month", 80, 3, 600)};

	variants[1].cost_basis = COST_MONTH;
	compute(variants, 2);
	ck_assert_int_eq(found.cheapest, -1);
	ck_assert(found.ratios[1].cost < 1e-12);
	ck_assert_double_eq_tol(found.ratios[1].time, 1, 1e-12);
	variants[1].time_basis = TIME_REQUEST;
	compute(variants, 2);
	ck_assert_int_eq(found.fastest, -1);
	ck_assert_ptr_nonnull(strstr(found.ratios[1].text, "nothing to be measured"));
}
END_TEST

/* What is infeasible, unpriced or left out wins nothing and is measured against nothing. */
START_TEST(gaps_are_no_zeros)
{
	struct comparison_variant variants[] = {run_of("first", 80, 12, 600),
						run_of("none", 10, 0, 0), run_of("late", 1, 1, 1),
						run_of("unpriced", 40, 5, 100)};

	variants[1].is_feasible = false;
	variants[1].cost_micros = PRICE_UNKNOWN;
	variants[2] = (struct comparison_variant){.name = "late"};
	variants[3].cost_micros = PRICE_UNKNOWN;
	compute(variants, 4);
	ck_assert_int_eq(found.cheapest, 0); /* the only one that has a price */
	ck_assert_int_eq(found.fastest, 3);
	ck_assert_int_eq(found.smallest, 1);
	ck_assert_double_eq_tol(found.ratios[1].memory, 0.125, 1e-12);
	ck_assert(found.ratios[1].cost < 1e-12 && found.ratios[1].time < 1e-12);
	ck_assert(found.ratios[2].memory < 1e-12);
	ck_assert(found.ratios[3].cost < 1e-12);
	ck_assert_ptr_nonnull(strstr(found.ratios[1].text, "fits nothing"));
	ck_assert_ptr_nonnull(strstr(found.ratios[2].text, "not computed"));
	ck_assert_ptr_null(strstr(found.ratios[3].text, "costs"));
}
END_TEST

/* When the first has no figures, nothing can be measured against it, but the best are still told.
 */
START_TEST(the_first_may_be_infeasible)
{
	struct comparison_variant variants[] = {run_of("none", 80, 0, 0), run_of("a", 20, 3, 900)};

	variants[0].is_feasible = false;
	compute(variants, 2);
	ck_assert_int_eq(found.cheapest, 1);
	ck_assert_int_eq(found.fastest, 1);
	ck_assert(found.ratios[1].cost < 1e-12 && found.ratios[1].time < 1e-12);
	ck_assert_double_eq_tol(found.ratios[1].memory, 0.25, 1e-12);
}
END_TEST

START_TEST(equals_have_no_winner)
{
	const struct comparison_variant variants[] = {run_of("a", 20, 3, 900),
						      run_of("b", 20, 3, 800)};

	compute(variants, 2);
	ck_assert_int_eq(found.cheapest, -1);
	ck_assert_int_eq(found.smallest, -1);
	ck_assert_int_eq(found.fastest, 1);
	ck_assert_str_eq(found.text, "Fastest: b.");
	ck_assert_ptr_nonnull(strstr(found.ratios[1].text, "needs 20.0 GiB, the same"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("comparison");
	TCase *tests = tcase_create("comparison");

	tcase_add_test(tests, ratios_are_to_the_first);
	tcase_add_test(tests, bases_are_not_mixed);
	tcase_add_test(tests, gaps_are_no_zeros);
	tcase_add_test(tests, the_first_may_be_infeasible);
	tcase_add_test(tests, equals_have_no_winner);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
