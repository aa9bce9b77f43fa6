/* Terms of providers: plausible, or unknown and never zero. */
#include "core/terms.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

static bool is_term(enum term value)
{
	return value == TERM_UNKNOWN || value == TERM_NO || value == TERM_YES;
}

static bool is_between(double value, double least, double most)
{
	return isnan(value) || (value >= least && value <= most);
}

START_TEST(the_table_is_sorted_and_whole)
{
	ck_assert_uint_ge(terms_count, 45);
	for (size_t i = 0; i < terms_count; i++) {
		const struct terms *row = &terms_table[i];

		if (i > 0)
			ck_assert_msg(names_compare(terms_table[i - 1].provider, row->provider) < 0,
				      "%s", row->provider);
		ck_assert_ptr_eq(terms_find(row->provider), row);
		ck_assert_msg(row->name && *row->name, "%s", row->provider);
		ck_assert_msg(row->source && *row->source, "%s has no source", row->provider);
		ck_assert_msg(row->as_of && *row->as_of, "%s", row->provider);
		ck_assert_msg(!row->page || strncmp(row->page, "https://", 8) == 0, "%s",
			      row->provider);
		ck_assert(is_term(row->can_stop) && is_term(row->compute_billed_while_stopped) &&
			  is_term(row->storage_billed_while_stopped) && is_term(row->has_spot) &&
			  is_term(row->persistent_volume) && is_term(row->shared_filesystem) &&
			  is_term(row->docker_images) && is_term(row->ssh) &&
			  is_term(row->jupyter) && is_term(row->bare_metal) &&
			  is_term(row->multi_node_cluster) && is_term(row->community_hosts));
		ck_assert_str_ne(names_text(&provider_class_names, (int)row->class), "unknown");
	}
}
END_TEST

START_TEST(amounts_are_plausible_or_unknown)
{
	for (size_t i = 0; i < terms_count; i++) {
		const struct terms *row = &terms_table[i];

		ck_assert_msg(is_between(row->billing_granularity_seconds, 1, 3600), "%s",
			      row->provider);
		ck_assert_msg(is_between(row->minimum_charge_seconds, 0, 3600), "%s",
			      row->provider);
		ck_assert_msg(is_between(row->spot_notice_seconds, 0, 600), "%s", row->provider);
		ck_assert_msg(is_between(row->spot_interruptions_per_hour, 1e-6, 10), "%s",
			      row->provider);
		ck_assert_msg(is_between(row->egress_usd_per_gb, 0, 0.25), "%s", row->provider);
		ck_assert_msg(is_between(row->volume_usd_per_gb_month, 0.001, 0.5), "%s",
			      row->provider);
		ck_assert_msg(is_between(row->setup_delay_seconds, 1, 7200), "%s", row->provider);
		ck_assert_msg(row->free_egress_gb_per_month >= 0 &&
				      row->free_egress_gb_per_month <= 1e5,
			      "%s", row->provider);
		if (row->has_spot == TERM_NO)
			ck_assert_msg(isnan(row->spot_interruptions_per_hour), "%s", row->provider);
		if (!isnan(row->spot_interruptions_per_hour))
			ck_assert_msg(row->notes && strstr(row->notes, "spot:"),
				      "%s derives it in notes", row->provider);
	}
}
END_TEST

/* facts/providers.csv and facts/hardware-notes.md 8. */
START_TEST(anchors_hold)
{
	const struct terms *aws = terms_find("aws"), *lambda = terms_find("lambda");

	ck_assert_int_eq(aws->class, PROVIDER_HYPERSCALER);
	ck_assert_double_eq_tol(aws->egress_usd_per_gb, 0.09, 1e-9);
	ck_assert_double_eq_tol(aws->free_egress_gb_per_month, 100, 1e-9);
	ck_assert_double_eq_tol(aws->minimum_charge_seconds, 60, 1e-9);
	ck_assert_int_eq(aws->compute_billed_while_stopped, TERM_NO);
	ck_assert_int_eq(lambda->can_stop, TERM_NO);
	ck_assert_int_eq(lambda->has_spot, TERM_NO);
	ck_assert_double_eq_tol(lambda->egress_usd_per_gb, 0, 1e-9); /* known to be free */
	ck_assert_double_eq_tol(terms_find("ovhcloud")->billing_granularity_seconds, 3600, 1e-9);
	ck_assert_double_eq_tol(terms_find("verda")->billing_granularity_seconds, 600, 1e-9);
	ck_assert_int_eq(terms_find("vultr")->compute_billed_while_stopped, TERM_YES);
	ck_assert_int_eq(terms_find("oci")->compute_billed_while_stopped, TERM_YES);
	ck_assert_int_eq(terms_find("vast")->class, PROVIDER_MARKETPLACE);
	ck_assert_int_eq(terms_find("vast")->community_hosts, TERM_YES);
	ck_assert_int_eq(terms_find("nebius")->community_hosts, TERM_NO);
}
END_TEST

START_TEST(unknown_is_not_zero)
{
	ck_assert_ptr_null(terms_find("nowhere"));
	ck_assert_ptr_null(terms_find(""));
	ck_assert(isnan(terms_find("crusoe")->billing_granularity_seconds));
	ck_assert(isnan(terms_find("vast")->egress_usd_per_gb)); /* each host sets its own */
	ck_assert(isnan(terms_find("runpod")->spot_interruptions_per_hour));
	ck_assert_int_eq(terms_find("together")->can_stop, TERM_UNKNOWN);
}
END_TEST

/* facts/aws_spot_bands.csv: in us-east-1 p4de.24xlarge is under 5 % a month, g4dn.xlarge 15-20 %.
 */
START_TEST(spot_bands_are_by_type_and_region)
{
	double provider = terms_find("aws")->spot_interruptions_per_hour;

	for (size_t i = 0; i < spot_bands_count; i++) {
		const struct spot_band *row = &spot_bands[i];

		ck_assert(row->band >= 0 && row->band <= 4);
		if (i > 0)
			ck_assert_msg(names_compare(row[-1].type, row->type) < 0 ||
					      names_compare(row[-1].region, row->region) < 0,
				      "%s %s", row->type, row->region);
		ck_assert_double_gt(
			terms_spot_interruptions_per_hour("aws", row->type, row->region, 0), 0);
	}
	/* Rates stand to each other as the hazards behind the bands' frequencies do, and the top
	 * band's is that of its traces. */
	ck_assert_double_eq_tol(
		terms_spot_interruptions_per_hour("aws", "p4de.24xlarge", "us-east-1", 0),
		0.25 * log(0.975) / log(0.75), 1e-9);
	ck_assert_double_eq_tol(
		terms_spot_interruptions_per_hour("aws", "g4dn.xlarge", "us-east-1", 0),
		0.25 * log(0.825) / log(0.75), 1e-9);
	ck_assert_double_eq_tol(
		terms_spot_interruptions_per_hour("aws", "p3.2xlarge", "us-west-2", 0), 0.25, 1e-9);
	ck_assert_double_eq_tol(terms_spot_interruptions_per_hour("aws", "p5.48xlarge", "mars", 0),
				provider, 1e-12);
	ck_assert(isnan(terms_spot_interruptions_per_hour("gcp", "g4dn.xlarge", "us-east-1", 0)));
	ck_assert(isnan(terms_spot_interruptions_per_hour("nowhere", "", "", 0)));
	/* What the feed told with the price goes first, and for whom no table is. */
	ck_assert_double_eq_tol(
		terms_spot_interruptions_per_hour("aws", "p4de.24xlarge", "us-east-1", TERMS_BANDS),
		TERMS_SPOT_QUARTILE_PER_HOUR, 1e-9);
	for (int band = 2; band <= TERMS_BANDS; band++)
		ck_assert_double_gt(terms_spot_interruptions_per_hour("nowhere", "", "", band),
				    terms_spot_interruptions_per_hour("nowhere", "", "", band - 1));
	ck_assert(isnan(terms_spot_interruptions_per_hour("nowhere", "", "", TERMS_BANDS + 1)));
	ck_assert_str_eq(terms_band_text(2), "5-10%");
	ck_assert_str_eq(terms_band_text(0), "");
	ck_assert_str_eq(terms_band_text(TERMS_BANDS + 1), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("terms");
	TCase *tests = tcase_create("terms");

	tcase_add_test(tests, the_table_is_sorted_and_whole);
	tcase_add_test(tests, amounts_are_plausible_or_unknown);
	tcase_add_test(tests, anchors_hold);
	tcase_add_test(tests, unknown_is_not_zero);
	tcase_add_test(tests, spot_bands_are_by_type_and_region);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
