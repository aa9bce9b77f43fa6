/* Regions of providers and the countries they lie in. */
#include "core/country.h"

#include "tests/core/market.h"
#include "tests/suite.h"

#include <string.h>

static void lies_in(const char *provider, const char *region, const char *wanted)
{
	char code[COUNTRY_TEXT] = "?";
	bool found = country_of_region(provider, region, code);

	ck_assert_msg(strcmp(code, wanted) == 0 && found == (*wanted != '\0'), "%s %s is \"%s\"",
		      provider, region, code);
}

static const struct {
	const char *provider, *region, *code;
} rows[] = {
#include "core/data/countries.inc"
};

START_TEST(the_table_is_sorted_and_without_doubles)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int order = i ? strcmp(rows[i - 1].provider, rows[i].provider) : -1;

		ck_assert_msg(
			order < 0 || (order == 0 && strcmp(rows[i - 1].region, rows[i].region) < 0),
			"%s %s", rows[i].provider, rows[i].region);
		lies_in(rows[i].provider, rows[i].region, rows[i].code);
	}
}
END_TEST

START_TEST(every_bundled_region_has_a_country)
{
	struct market market;
	char code[COUNTRY_TEXT];

	market_init(&market, 4000);
	market_add_bundled(&market);
	ck_assert_uint_gt(market.count, 600);
	for (size_t i = 0; i < market.count; i++)
		ck_assert_msg(country_of_region(market.offers[i].provider, market.offers[i].region,
						code) &&
				      strlen(code) == 2,
			      "%s %s", market.offers[i].provider, market.offers[i].region);
	market_release(&market);
}
END_TEST

START_TEST(regions_lie_where_their_providers_say)
{
	lies_in("aws", "us-east-1", "US");
	lies_in("aws", "us-gov-west-1", "US");
	lies_in("aws", "eu-central-1", "DE");
	lies_in("aws", "ap-northeast-1", "JP");
	lies_in("azure", "southeastasia", "SG");
	lies_in("azure", "westeurope", "NL");
	lies_in("azure", "northeurope", "IE");
	lies_in("azure", "uksouth", "GB");
	lies_in("azure", "westus3", "US");
	lies_in("digitalocean", "ams3", "NL");
	lies_in("gcp", "europe-west4", "NL");
	lies_in("gcp", "asia-southeast1", "SG");
	lies_in("hyperstack", "NORWAY-1", "NO");
	lies_in("lambda", "europe-central-1", "DE");
	lies_in("nebius", "eu-north1", "FI");
	lies_in("shadeform", "warsaw-poland-1", "PL");
	lies_in("verda", "FIN-03", "FI");
	/* The same name, two places. */
	lies_in("aws", "eu-west-1", "IE");
	lies_in("nebius", "eu-west1", "FR");
	lies_in("oci", "ap-tokyo-1", "JP");
	lies_in("ibm", "us-south", "US");
	lies_in("ovhcloud", "BHS", "CA");
}
END_TEST

START_TEST(vast_tells_it_in_the_region)
{
	lies_in("vast", "TW", "TW");
	lies_in("vast", "Quebec, CA", "CA");
	lies_in("vast", ", US", "US");
	lies_in("vast", "Windhoek, NA", "NA");
	lies_in("vast", "NA", "NA");
	/* As SkyPilot's list had it: neither Namibia nor American Samoa nor Saudi Arabia. */
	lies_in("vast", "Alberta, CA, NA", "CA");
	lies_in("vast", ", CN, AS", "CN");
	lies_in("vast", "Argentina, AR, SA", "AR");
	lies_in("vast", "", "");
	lies_in("vast", "Europe", "");
	lies_in("vast", "QuebecCA", "");
	lies_in("vast", "Quebec,CA", "");
	lies_in("vast", ", C", "");
	lies_in("vast", "us", "");
}
END_TEST

START_TEST(what_the_table_has_not_stays_unknown)
{
	lies_in("aws", "us-east-99", "");
	lies_in("aws", "us-east", "");
	lies_in("aws", "US-EAST-1", "");
	lies_in("aws", "", "");
	lies_in("nobody", "us-east-1", "");
	lies_in("nebius", "eu-north2", "");
	lies_in("", "", "");
}
END_TEST

START_TEST(codes_are_two_letters_of_any_case)
{
	static const char *const wrong[] = {"", "U", "USA", "U1", "1S", "u ", "\xc3\xa9"};
	char code[COUNTRY_TEXT];

	ck_assert(country_read("us", code));
	ck_assert_str_eq(code, "US");
	ck_assert(country_read("nO", code));
	ck_assert_str_eq(code, "NO");
	ck_assert(country_read("uk", code));
	ck_assert_str_eq(code, "GB");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert_msg(!country_read(wrong[i], code), "%s", wrong[i]);
		ck_assert_str_eq(code, "");
	}
}
END_TEST

START_TEST(countries_are_those_of_the_standard)
{
	static const char *const none[] = {"", "A", "AA", "EU", "UK", "XK", "XX", "ZZ", "us", "AC"};
	static const char *const some[] = {"AD", "DE", "GB", "NA", "SA", "US", "ZW"};
	int count = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(country_is_assigned(rows[i].code), "%s", rows[i].code);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		ck_assert_msg(!country_is_assigned(none[i]), "%s", none[i]);
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		ck_assert_msg(country_is_assigned(some[i]), "%s", some[i]);
	for (char first = 'A'; first <= 'Z'; first++)
		for (char second = 'A'; second <= 'Z'; second++)
			count += country_is_assigned((char[]){first, second, '\0'});
	ck_assert_int_eq(count, 249);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("country");
	TCase *tests = tcase_create("country");

	tcase_add_test(tests, the_table_is_sorted_and_without_doubles);
	tcase_add_test(tests, every_bundled_region_has_a_country);
	tcase_add_test(tests, regions_lie_where_their_providers_say);
	tcase_add_test(tests, vast_tells_it_in_the_region);
	tcase_add_test(tests, what_the_table_has_not_stays_unknown);
	tcase_add_test(tests, codes_are_two_letters_of_any_case);
	tcase_add_test(tests, countries_are_those_of_the_standard);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
