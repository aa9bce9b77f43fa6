/* AWS's bulk list: what is fetched again, what stands, and what becomes of a list that breaks off;
 * and its spot prices by zone. */
#include "tests/providers/walk.h"

#include <stdio.h>
#include <string.h>

static const char index_text[] =
	"{\"regions\":{\"a\":{\"regionCode\":\"us-east-1\",\"currentVersionUrl\":"
	"\"/offers/v1.0/aws/AmazonEC2/20260920/us-east-1/index.json\"},\"b\":{\"regionCode\":"
	"\"eu-west-1\",\"currentVersionUrl\":"
	"\"/offers/v1.0/aws/AmazonEC2/20260918/eu-west-1/index.json\"}}}";

#define NAMES                                                                                      \
	"SKU,TermType,Unit,PricePerUnit,Currency,Tenancy,Instance Type,Region Code,"               \
	"Operating System,CapacityStatus,MarketOption,PurchaseOption,OfferingClass,"               \
	"Pre Installed S/W,LeaseContractLength,GPU\n"
#define ROW(type, price, region)                                                                   \
	"x,OnDemand,Hrs," price ",USD,Shared," type "," region ",Linux,Used,OnDemand,,,NA,,\n"

static const char east[] = NAMES ROW("g5.xlarge", "1.006", "us-east-1");

/* What the last good refresh left: one offer a region, of an hour ago. */
static const struct offer last[] = {
	{.region = "us-east-1", .instance_type = "g5.xlarge", .price_micros = 1000000},
	{.region = "eu-west-1", .instance_type = "g5.xlarge", .price_micros = 1100000},
};

static struct offer before[2];

static void begin_with_last(const struct provider *provider)
{
	walk_begin(provider);
	for (size_t i = 0; i < 2; i++) {
		before[i] = feed_offer(&walk_feed);
		before[i].region = last[i].region;
		before[i].instance_type = last[i].instance_type;
		before[i].accelerator = "A10G 24GB";
		before[i].price_micros = last[i].price_micros;
		before[i].observed_at_us = WALK_NOW_US - INT64_C(3600000000);
	}
	walk_feed.last = before;
	walk_feed.last_count = 2;
}

static const struct provider *begin(const char *memo)
{
	const struct provider *provider = provider_find("aws-price-list");
	struct fetch_request request = {0};

	ck_assert_ptr_nonnull(provider);
	begin_with_last(provider);
	walk_feed.memo = memo;
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(!request.is_streamed);
	ck_assert(walk_answer(provider, &request, index_text, NULL));
	return provider;
}

static const struct offer *find(const char *region)
{
	for (size_t i = 0; i < walk_feed.count; i++)
		if (strcmp(walk_feed.offers[i].region, region) == 0)
			return &walk_feed.offers[i];
	return NULL;
}

START_TEST(a_list_of_the_same_version_is_not_fetched_again)
{
	const struct provider *provider = begin(";us-east-1=20260901;eu-west-1=20260918;");
	struct fetch_request request = {0};

	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(request.is_streamed);
	ck_assert_str_eq(request.url, "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/"
				      "AmazonEC2/20260920/us-east-1/index.csv");
	ck_assert(walk_answer(provider, &request, east, NULL));
	ck_assert(!provider->request(&walk_feed, &request, &walk_error));
	ck_assert(walk_finish(provider));
	ck_assert_uint_eq(walk_feed.count, 2);
	ck_assert_int_eq(find("us-east-1")->price_micros, 1006000);
	ck_assert_int_eq(find("eu-west-1")->price_micros, 1100000);
	ck_assert_int_eq(find("eu-west-1")->observed_at_us, WALK_NOW_US);
	ck_assert_str_eq(walk_feed.memo_next, ";us-east-1=20260920;eu-west-1=20260918;");
	ck_assert_int_eq(walk_feed.rows_seen, walk_report.accepted);
	walk_release();
}
END_TEST

START_TEST(a_list_that_cannot_be_had_keeps_its_old_prices_with_their_date)
{
	const struct provider *provider = begin("");
	struct fetch_request request = {0};

	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(walk_answer(provider, &request, NULL, NULL));
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(
		walk_answer(provider, &request, NAMES ROW("g5.xlarge", "1.2", "eu-west-1"), NULL));
	ck_assert(walk_finish(provider));
	ck_assert_int_eq(find("us-east-1")->price_micros, 1000000);
	ck_assert_int_eq(find("us-east-1")->observed_at_us, before[0].observed_at_us);
	ck_assert_int_eq(find("eu-west-1")->price_micros, 1200000);
	ck_assert_str_eq(walk_feed.memo_next, ";eu-west-1=20260918;");
	ck_assert(strstr(walk_feed.note, "us-east-1"));
	walk_release();
}
END_TEST

START_TEST(when_no_list_can_be_had_the_refresh_fails)
{
	const struct provider *provider = begin("");
	struct fetch_request request = {0};

	while (provider->request(&walk_feed, &request, &walk_error))
		ck_assert(walk_answer(provider, &request, NULL, NULL));
	ck_assert(!walk_finish(provider));
	ck_assert_int_eq((int)walk_error.code, (int)ERROR_FEED);
	walk_release();
}
END_TEST

START_TEST(without_its_last_offers_what_it_noted_counts_for_nothing)
{
	const struct provider *provider = begin(";us-east-1=20260920;eu-west-1=20260918;");
	struct fetch_request request = {0};

	walk_feed.last_count = 0;
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(strstr(request.url, "us-east-1/index.csv"));
	walk_release();
}
END_TEST

/* What chunk() gets at offset 0 is the start of the list, whatever came before. */
START_TEST(a_second_attempt_starts_over)
{
	const struct provider *provider = begin("");
	struct fetch_request request = {0};
	struct feed mark;

	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	mark = walk_feed;
	ck_assert(provider->chunk(&walk_feed, &request, 0, east, sizeof(east) - 12, &walk_error));
	walk_feed = mark;
	ck_assert(walk_answer(provider, &request, east, NULL));
	ck_assert_uint_eq(walk_feed.count, 1);
	ck_assert_int_eq(walk_feed.offers[0].price_micros, 1006000);
	walk_release();
}
END_TEST

static const struct {
	const char *text, *detail;
} broken[] = {
	{"<html>busy</html>", "no column"},
	{"", "no column"},
	{NAMES "\"x,OnDemand", "inside quotes"},
};

START_TEST(a_list_of_another_shape_fails_with_a_reason)
{
	const struct provider *provider = begin("");
	struct fetch_request request = {0};

	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(!walk_answer(provider, &request, broken[_i].text, NULL));
	ck_assert_msg(strstr(walk_error.detail, broken[_i].detail), "%s", walk_error.detail);
	walk_release();
}
END_TEST

START_TEST(a_row_without_end_is_refused)
{
	static char line[100000];
	const struct provider *provider = begin("");
	struct fetch_request request = {0};

	memset(line, 'x', sizeof(line) - 1);
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(!walk_answer(provider, &request, line, NULL));
	ck_assert_msg(strstr(walk_error.detail, "long"), "%s", walk_error.detail);
	walk_release();
}
END_TEST

static const struct offer *in_zone(const char *zone)
{
	for (size_t i = 0; i < walk_feed.count; i++)
		if (strcmp(walk_feed.offers[i].zone, zone) == 0)
			return &walk_feed.offers[i];
	return NULL;
}

START_TEST(of_a_zone_the_last_told_spot_price_counts)
{
	walk_committed(provider_find("aws-ec2-spot-history"));
	ck_assert_int_eq(in_zone("use1-az6")->price_micros, 22750000);
	ck_assert_int_eq(in_zone("use1-az4")->price_micros, 25100000);
	ck_assert_str_eq(in_zone("us-east-1b")->instance_type, "g6e.xlarge");
	walk_release();
}
END_TEST

START_TEST(spot_requests_are_signed_for_their_region_with_sorted_parameters)
{
	const struct provider *provider = provider_find("aws-ec2-spot-history");
	struct fetch_request request = {0};
	const char *before_it = "";

	walk_begin(provider);
	walk_feed.key = "AKID:SECRET:LENT";
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(walk_answer(provider, &request, "<item><regionName>eu-west-1</regionName></item>",
			      NULL));
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert_str_eq(request.signature, "aws:amz:eu-west-1:ec2");
	ck_assert_str_eq(request.credentials, "AKID:SECRET");
	ck_assert_str_eq(request.headers[0], "X-Amz-Security-Token: LENT");
	ck_assert(strncmp(request.url, "https://ec2.eu-west-1.amazonaws.com/?", 37) == 0);
	for (const char *at = strchr(request.url, '?'); at; at = strchr(at, '&')) {
		at++;
		ck_assert_msg(strcmp(before_it, at) < 0, "%s after %s", at, before_it);
		before_it = at;
	}
	walk_feed.key = "only-one-part";
	ck_assert(!provider->request(&walk_feed, &request, &walk_error));
	ck_assert(strstr(walk_error.detail, "ID:SECRET"));
	walk_release();
}
END_TEST

#define SPOT_ANSWER(price, token)                                                                  \
	"<DescribeSpotPriceHistoryResponse><spotPriceHistorySet><item><instanceType>g5.xlarge"     \
	"</instanceType><productDescription>Linux/UNIX</productDescription><spotPrice>" price      \
	"</spotPrice><timestamp>2026-09-21T12:00:00.000Z</timestamp><availabilityZone>us-east-1a"  \
	"</availabilityZone></item></spotPriceHistorySet><nextToken>" token                        \
	"</nextToken></DescribeSpotPriceHistoryResponse>"

/* A region that is not opted into, a dead endpoint, one that breaks off after its first page. */
START_TEST(a_region_that_cannot_be_had_keeps_its_spot_prices_with_their_date)
{
	const struct provider *provider = provider_find("aws-ec2-spot-history");
	struct fetch_request request = {0};
	const struct fetch_response none = {
		.body = "", .content_type = "", .link = "", .reason = "spot-x: timeout"};

	for (int all = 0; all < 2; all++) {
		begin_with_last(provider);
		ck_assert(provider->request(&walk_feed, &request, &walk_error));
		ck_assert(walk_answer(provider, &request,
				      "<item><regionName>us-east-1</regionName></item>"
				      "<item><regionName>me-south-1</regionName></item>"
				      "<item><regionName>eu-west-1</regionName></item>",
				      NULL));
		ck_assert(provider->request(&walk_feed, &request, &walk_error));
		ck_assert(request.is_one_of_many);
		if (!all) {
			ck_assert(
				walk_answer(provider, &request, SPOT_ANSWER("0.5", "more"), NULL));
			ck_assert(provider->request(&walk_feed, &request, &walk_error));
			ck_assert_str_eq(request.label, "spot-us-east-1-2");
		}
		ck_assert(provider->parse(&walk_feed, &request, &none, &walk_error));
		ck_assert(provider->request(&walk_feed, &request, &walk_error));
		ck_assert_str_eq(request.label, "spot-me-south-1-1");
		ck_assert(provider->parse(&walk_feed, &request, &none, &walk_error));
		ck_assert(provider->request(&walk_feed, &request, &walk_error));
		if (all) {
			ck_assert(!provider->parse(&walk_feed, &request, &none, &walk_error));
			ck_assert_ptr_nonnull(strstr(walk_error.detail, "no region can be had"));
			ck_assert_ptr_nonnull(strstr(walk_error.detail, "spot-x: timeout"));
		} else {
			ck_assert(walk_answer(provider, &request, SPOT_ANSWER("0.7", ""), NULL));
			ck_assert_uint_eq(walk_feed.count, 2);
			ck_assert_int_eq(walk_feed.rows_seen, 2);
			ck_assert_int_eq(find("us-east-1")->price_micros, 1000000);
			ck_assert_int_eq(find("us-east-1")->observed_at_us,
					 before[0].observed_at_us);
			ck_assert_int_eq(find("eu-west-1")->price_micros, 700000);
			ck_assert_ptr_nonnull(strstr(walk_feed.note, "1 of 3 regions"));
		}
		walk_release();
	}
}
END_TEST

START_TEST(what_awss_own_tools_print_is_read_too)
{
	const struct provider *provider = provider_find("aws-ec2-spot-history");
	const struct fetch_request request = {.page = 1, .label = "spot"};
	FILE *file = fopen(SHARED "/fixtures/providers/aws-describe-spot-price-history.json", "re");
	char text[8192];
	size_t length;

	if (!file) {
		fprintf(stderr, "# skipped: there is no ../shared\n");
		return;
	}
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = '\0';
	fclose(file);
	walk_begin(provider);
	ck_assert_msg(walk_answer(provider, &request, text, NULL), "%s", walk_error.detail);
	ck_assert(walk_finish(provider));
	ck_assert_uint_eq(walk_feed.count, 2);
	ck_assert_int_eq(in_zone("use1-az6")->price_micros, 781600);
	ck_assert_int_eq(in_zone("us-east-1d")->price_micros, 39651900);
	ck_assert_str_eq(in_zone("us-east-1d")->region, "us-east-1");
	walk_release();
}
END_TEST

/* --- how often spot machines are reclaimed --- */

static int band_of(const char *type, const char *region)
{
	for (size_t i = 0; i < walk_feed.count; i++)
		if (strcmp(walk_feed.offers[i].instance_type, type) == 0 &&
		    strcmp(walk_feed.offers[i].region, region) == 0)
			return walk_feed.offers[i].interruption_band;
	ck_abort_msg("no %s in %s", type, region);
	return -1;
}

START_TEST(the_advisors_bands_go_with_the_prices)
{
	walk_committed(provider_find("aws-spot-page"));
	ck_assert_int_eq(band_of("p5.48xlarge", "us-east-1"), 5); /* not that of Windows */
	ck_assert_int_eq(band_of("g5.12xlarge", "ap-northeast-1"), 0);
	ck_assert_str_eq(walk_feed.note, "");
	ck_assert(feed_time(walk_feed.memo_next) == WALK_NOW_US);
	walk_release();
	walk_committed(provider_find("aws-ec2-spot-history"));
	ck_assert_int_eq(band_of("g6e.xlarge", "us-east-1"), 2);
	ck_assert_int_eq(band_of("g5.12xlarge", "eu-west-1"), 1); /* under 5 %, not "not told" */
	walk_release();
}
END_TEST

/* One price, then what the advisor answers (NULL: it does not), with the memo of `memo`. */
static void walk_spot(const char *memo, const struct offer *told, const char *advisor)
{
	static const char spot[] =
		"{\"config\":{\"rate\":\"perhr\",\"regions\":[{\"region\":\"us-east\","
		"\"instanceTypes\":[{\"sizes\":[{\"size\":\"p5.48xlarge\",\"valueColumns\":[{"
		"\"name\":\"linux\",\"prices\":{\"USD\":\"20\"}}]}]}]}]}}";
	const struct provider *provider = provider_find("aws-spot-page");
	struct fetch_request request = {0};

	walk_begin(provider);
	walk_feed.memo = memo;
	walk_feed.last = told;
	walk_feed.last_count = 1;
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(walk_answer(provider, &request, spot, NULL));
	while (provider->request(&walk_feed, &request, &walk_error)) {
		ck_assert_str_eq(request.label, "advisor");
		ck_assert(request.is_dispensable);
		ck_assert(walk_answer(provider, &request, advisor, NULL));
	}
	ck_assert_msg(walk_finish(provider), "%s", walk_error.detail);
}

START_TEST(what_the_advisor_said_stands_for_a_while)
{
	static const struct {
		const char *memo, *advisor;
		int band;
		bool is_remarked_on;
	} cases[] = {
		{"2026-09-21T13:00:00Z", "{}", 3, false}, /* an hour ago: not asked */
		{"2026-09-20T13:00:00Z", NULL, 3, true},
		{"2026-09-20T13:00:00Z", "<html>", 3, true},
		{"2026-09-20T13:00:00Z", "{\"ranges\":[{\"index\":0,\"label\":\"<50%\"}]}", 3,
		 true},
		{"2026-08-01T13:00:00Z", NULL, 0, true}, /* too long ago */
		{"", NULL, 0, true},
		{"2027-01-01T00:00:00Z", NULL, 0, true}, /* a clock that was wrong */
	};
	const struct offer told = {
		.instance_type = "p5.48xlarge", .region = "us-east-1", .interruption_band = 3};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		walk_spot(cases[i].memo, &told, cases[i].advisor);
		ck_assert_int_eq(band_of("p5.48xlarge", "us-east-1"), cases[i].band);
		ck_assert_int_eq(walk_feed.note[0] != '\0', cases[i].is_remarked_on);
		ck_assert_str_eq(walk_feed.memo_next, cases[i].band ? cases[i].memo : "");
		walk_release();
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("aws");
	TCase *tcase = tcase_create("list");

	tcase_add_test(tcase, a_list_of_the_same_version_is_not_fetched_again);
	tcase_add_test(tcase, a_list_that_cannot_be_had_keeps_its_old_prices_with_their_date);
	tcase_add_test(tcase, when_no_list_can_be_had_the_refresh_fails);
	tcase_add_test(tcase, without_its_last_offers_what_it_noted_counts_for_nothing);
	tcase_add_test(tcase, a_second_attempt_starts_over);
	tcase_add_loop_test(tcase, a_list_of_another_shape_fails_with_a_reason, 0,
			    sizeof(broken) / sizeof(broken[0]));
	tcase_add_test(tcase, a_row_without_end_is_refused);
	tcase_add_test(tcase, of_a_zone_the_last_told_spot_price_counts);
	tcase_add_test(tcase, spot_requests_are_signed_for_their_region_with_sorted_parameters);
	tcase_add_test(tcase, a_region_that_cannot_be_had_keeps_its_spot_prices_with_their_date);
	tcase_add_test(tcase, what_awss_own_tools_print_is_read_too);
	tcase_add_test(tcase, the_advisors_bands_go_with_the_prices);
	tcase_add_test(tcase, what_the_advisor_said_stands_for_a_while);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
