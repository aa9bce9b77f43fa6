/* Price lists: the columns that are known, what a bad row costs, and lists of others' catalogues.
 */
#include "server/ingest/discount.h"
#include "server/ingest/files.h"
#include "server/ingest/price_list.h"
#include "tests/suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_US (INT64_C(1790000000) * 1000000)

static struct arena arena;
static struct error error;

static void begin(void)
{
	arena_init(&arena, (size_t)256 << 20);
	error_init(&error, NULL);
}

static void end(void)
{
	arena_release(&arena);
}

static bool read_as(const char *text, const char *provider, struct price_list **out)
{
	const struct price_list_options options = {
		.provider = provider, .source = "file:test", .tier = "file", .now_us = NOW_US};

	return price_list_read(text, strlen(text), &options, &arena, out, &error);
}

static const struct offer *find(const struct price_list *list, const char *type,
				enum price_kind kind)
{
	for (size_t i = 0; i < list->feed.count; i++)
		if (strcmp(list->feed.offers[i].instance_type, type) == 0 &&
		    list->feed.offers[i].price_kind == kind)
			return &list->feed.offers[i];
	return NULL;
}

#define HEADER                                                                                     \
	"provider,region,zone,instance_type,accelerator,count,tier,price_kind,term_months,"        \
	"memory_gb,vcpus,ram_gib,disk_gb,price_usd_per_hour,observed_on,source\n"

START_TEST(a_row_that_is_wrong_is_refused_and_others_stay)
{
	static const char csv[] = HEADER "p,r,z,\"type, \"\"big\"\"\",T4 "
					 "16GB,1/2,,spot,0,8,4,16,,0.25,2025-06-01,somewhere\n"
					 "# a remark\n"
					 "p,r,z,a,T4 16GB,x,,spot,0,,,,,0.25,2025-06-01,s\n"
					 "p,r,z,b,T4 16GB,1,,rented,0,,,,,0.25,2025-06-01,s\n"
					 "p,r,z,c,T4 16GB,1,,spot,0,,,,,0.25,yesterday,s\n"
					 "p,r,z,d,T4 16GB,1,,spot,0,,,,,0,2025-06-01,s\n"
					 "p,r,z,f,T4 16GB,1,,spot,0,,four,,,1,2025-06-01,s\n"
					 "p,r,z,g,T4 16GB,1,,spot,0,,,,,0.25,2030-01-01,s\n"
					 "q,,,e,T4 16GB,1,,reserved,12,,,,,0.3,,s";
	struct price_list *list;

	ck_assert_msg(read_as(csv, NULL, &list), "%s", error.detail);
	ck_assert_str_eq(list->provider, "p");
	ck_assert_int_eq(list->report.accepted, 1);
	ck_assert_int_eq(list->feed.rejected[REJECTED_SCHEMA], 5);
	ck_assert_int_eq(list->feed.rejected[REJECTED_NO_PRICE], 1);
	ck_assert_str_eq(list->feed.offers[0].instance_type, "type, \"big\"");
	ck_assert_int_eq(list->feed.offers[0].count_milli, 500);
	ck_assert_str_eq(list->feed.offers[0].source, "file:test");
	ck_assert_str_eq(list->feed.offers[0].tier, "file");
	ck_assert_str_eq(list->next->provider, "q");
	ck_assert_int_eq(list->next->feed.offers[0].term_months, 12);
	ck_assert_int_eq(list->next->feed.offers[0].observed_at_us, NOW_US);
}
END_TEST

static const struct {
	const char *text, *detail;
} refused[] = {
	{"", "empty"},
	{"provider,region\n", "\"accelerator\""},
	{"provider,colour,price_usd_per_hour\n", "\"colour\""},
	{"provider,accelerator,price_usd_per_hour\n", "\"count\""},
	{"x," HEADER, "\"x\""},
	{"provider,accelerator,count,price_usd_per_hour\np,T4,1,1,9\n", "5 fields"},
	{"provider,accelerator,count,price_usd_per_hour\nBad One,T4,1,1\n", "\"Bad One\""},
	{"accelerator,count,price_usd_per_hour\nT4,1,1\n", "names no provider"},
	{"InstanceType,AcceleratorName,Price\n", "AcceleratorCount"},
	{"{\"rows\":[]}", "\"offers\""},
	{"{\"offers\":[3]}", "row 1"},
	{"{\"offers\":", "JSON"},
	{"[{\"provider\":\"p\",\"accelerator\":\"T4\",\"count\":1,\"price\":3}]", "\"price\""},
};

START_TEST(a_list_of_another_shape_is_refused_with_a_reason)
{
	struct price_list *list;

	ck_assert(!read_as(refused[_i].text, NULL, &list));
	ck_assert_msg(strstr(error.detail, refused[_i].detail), "%s", error.detail);
}
END_TEST

START_TEST(json_says_the_same_as_csv)
{
	struct price_list *list;
	const struct offer *offer;

	ck_assert_msg(
		read_as("{\"offers\": [{\"provider\": \"pool\", \"instance_type\": \"rack-1\","
			" \"accelerator\": \"H100 SXM5 80GB\", \"count\": 8, \"tier\": \"own\","
			" \"price_usd_per_hour\": 9.6, \"availability\": \"yes\","
			" \"quantity\": 4, \"country\": \"DE\", \"region\": null}]}",
			NULL, &list),
		"%s", error.detail);
	ck_assert_uint_eq(list->feed.count, 1);
	offer = find(list, "rack-1", PRICE_ON_DEMAND);
	ck_assert_int_eq(offer->price_micros, 9600000);
	ck_assert_int_eq(offer->count_milli, 8000);
	ck_assert_int_eq((int)offer->availability, AVAILABILITY_YES);
	ck_assert_int_eq(offer->quantity, 4);
	ck_assert_str_eq(offer->country, "DE");
	ck_assert_str_eq(offer->tier, "own");
	ck_assert_str_eq(offer->region, "");
}
END_TEST

/* A catalogue of SkyPilot names no cloud; its spot price is a row of its own, 0 and blank are none;
 * machines without accelerators are not ours. */
START_TEST(a_skypilot_catalogue_is_known_by_its_columns)
{
	static const char csv[] = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,"
				  "Price,Region,GpuInfo,"
				  "SpotPrice,AvailabilityZone\n"
				  "p5.48xlarge,H100,8.0,192.0,2048.0,55.04,us-east-1,\"{'Gpus': "
				  "[{'Name': 'H100'}]}\","
				  "21.5,use1-az6\n"
				  "g6.xlarge,L4,1.0,4.0,16.0,0.8048,us-east-1,,0.0,\n"
				  ",A100,1.0,,,3.67,us-central1,,,\n"
				  "m6i.large,,,2.0,8.0,0.096,us-east-1,,,\n";
	struct price_list *list;

	ck_assert_msg(read_as(csv, "aws", &list), "%s", error.detail);
	ck_assert_ptr_null(list->next);
	ck_assert_uint_eq(list->feed.count, 3);
	ck_assert_str_eq(find(list, "p5.48xlarge", PRICE_ON_DEMAND)->accelerator, "H100 SXM5 80GB");
	ck_assert_int_eq(find(list, "p5.48xlarge", PRICE_ON_DEMAND)->price_micros, 55040000);
	ck_assert_int_eq(find(list, "p5.48xlarge", PRICE_SPOT)->price_micros, 21500000);
	ck_assert_str_eq(find(list, "p5.48xlarge", PRICE_SPOT)->zone, "use1-az6");
	ck_assert_int_eq(find(list, "g6.xlarge", PRICE_ON_DEMAND)->price_micros, 804800);
	ck_assert_int_eq(list->feed.rejected[REJECTED_SCHEMA], 1);
	ck_assert(!read_as(csv, NULL, &list));
}
END_TEST

/* --- discounts --- */

static const struct {
	const char *text;
	int64_t on_demand_micros, spot_micros; /* of 10 dollars each; 0 = refused */
} discounts[] = {
	{"12.5", 8750000, 10000000},
	{"on_demand:10,spot:50", 9000000, 5000000},
	{"0", 10000000, 10000000},
	{"reserved:30", 10000000, 10000000},
	{"33.3333", 6666670, 10000000},
	{"100", 0, 0},
	{"-1", 0, 0},
	{"", 0, 0},
	{"ten", 0, 0},
	{"weekly:10", 0, 0},
	{"on_demand:", 0, 0},
	{"10%", 0, 0},
};

START_TEST(a_discount_is_taken_off_and_said)
{
	struct feed feed = {.arena = &arena};

	ck_assert(discount_check(discounts[_i].text, &error) ==
		  (discounts[_i].on_demand_micros > 0));
	if (!discounts[_i].on_demand_micros)
		return;
	for (int kind = 0; kind < 2; kind++) {
		struct offer *offer = feed_add(&feed);

		offer->price_kind = kind ? PRICE_SPOT : PRICE_ON_DEMAND;
		offer->price_micros = 10000000;
		offer->original_amount = "10";
	}
	discount_apply(discounts[_i].text, &feed);
	ck_assert_int_eq(feed.offers[0].price_micros, discounts[_i].on_demand_micros);
	ck_assert_int_eq(feed.offers[1].price_micros, discounts[_i].spot_micros);
	ck_assert_str_eq(feed.offers[0].original_amount, "10");
	ck_assert((strstr(feed.offers[0].price_basis, "off the list") != NULL) ==
		  (discounts[_i].on_demand_micros != 10000000));
}
END_TEST

static const struct {
	const char *setting;
	bool is_good;
} settings[] = {
	{"", true},
	{"/etc/pool.csv", true},
	{"aws=/data/sky/aws.csv,pool.json", true},
	{"/a/pool.csv,/b/pool.csv", false}, /* one source name for two */
	{"aws=", false},
	{"=/a", false},
	{"/a,,/b", false},
};

START_TEST(the_setting_names_files)
{
	ck_assert(files_check(settings[_i].setting, &error) == settings[_i].is_good);
}
END_TEST

/* --- the price tables of ../shared --- */

/* What a GPU-hour of a card cost anywhere between 2023 and 2026, host included: a wrong unit
 * (cents, a month, the node for the card) leaves it. */
static const struct {
	const char *card;
	double low_usd, high_usd;
} bands[] = {
	{"H100", 0.8, 25},  {"H200", 0.9, 26},	  {"B200", 0.8, 30},	{"B300", 0.8, 35},
	{"GB200", 2, 60},   {"GB300", 2, 60},	  {"A100", 0.15, 10},	{"A10G", 0.1, 10},
	{"A10 ", 0.1, 10},  {"L4 ", 0.05, 8},	  {"L40", 0.2, 12},	{"T4", 0.02, 8},
	{"V100", 0.05, 8},  {"P100", 0.1, 5},	  {"K80", 0.02, 2},	{"P40", 0.1, 4},
	{"M60", 0.1, 5},    {"RTX A", 0.04, 4},	  {"RTX 3", 0.03, 2},	{"RTX 4", 0.05, 3},
	{"RTX 5", 0.05, 4}, {"RTX PRO", 0.2, 12}, {"RTX 6000", 0.2, 4}, {"A40", 0.15, 4},
	{"A16", 0.05, 3},   {"MI", 0.03, 12},	  {"Gaudi", 0.2, 4},	{"T4G", 0.02, 4},
};

static void check_band(const char *file, const struct offer *offer)
{
	const double each = (double)offer->price_micros / 1e3 / offer->count_milli;

	for (size_t i = 0; i < sizeof(bands) / sizeof(bands[0]); i++)
		if (strncmp(offer->accelerator, bands[i].card, strlen(bands[i].card)) == 0) {
			ck_assert_msg(each >= bands[i].low_usd && each <= bands[i].high_usd,
				      "%s: %s, %s in %s: %g USD a GPU-hour", file,
				      offer->instance_type, offer->accelerator, offer->region,
				      each);
			return;
		}
	ck_assert_msg(each >= 0.01 && each <= 50, "%s: %s: %g USD a GPU-hour", file,
		      offer->instance_type, each);
}

static size_t import(const char *path, const char *file, int64_t *seen, int64_t *rejected)
{
	const struct price_list_options options = {
		.source = "file:test", .tier = "file", .now_us = NOW_US};
	struct price_list *list;
	size_t taken = 0, length;
	char *text = calloc(1, 4 << 20);
	FILE *stream = fopen(path, "re");

	ck_assert(text && stream);
	length = fread(text, 1, (4 << 20) - 1, stream);
	fclose(stream);
	if (!price_list_read(text, length, &options, &arena, &list, &error)) {
		/* A table of machines, not of prices. */
		ck_assert_msg(strstr(file, "specs"), "%s: %s", file, error.detail);
		error_init(&error, NULL);
		list = NULL;
	}
	for (; list; list = list->next) {
		taken += list->feed.count;
		*seen += list->feed.rows_seen;
		for (int reason = 0; reason < REJECTIONS; reason++)
			*rejected += list->feed.rejected[reason];
		for (size_t i = 0; i < list->feed.count; i++)
			check_band(file, &list->feed.offers[i]);
	}
	free(text);
	return taken;
}

START_TEST(tables_of_shared_import_without_a_wrong_unit)
{
	DIR *folder = opendir(SHARED "/fixtures/prices");
	int64_t seen = 0, rejected = 0;
	size_t taken = 0;

	if (!folder) {
		fprintf(stderr, "# skipped: there is no ../shared\n");
		return;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		const char *end = strrchr(entry->d_name, '.');
		char path[1024];

		if (!end || strcmp(end, ".csv") != 0)
			continue;
		snprintf(path, sizeof(path), SHARED "/fixtures/prices/%s", entry->d_name);
		taken += import(path, entry->d_name, &seen, &rejected);
	}
	closedir(folder);
	ck_assert_int_eq(seen, (int64_t)taken + rejected);
	/* Some 5,000 rows, of which 600 of one cloud are without their machine. */
	ck_assert_msg(taken > 4000, "%zu taken of %lld", taken, (long long)seen);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("price lists");
	TCase *tcase = tcase_create("lists");

	tcase_add_checked_fixture(tcase, begin, end);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_row_that_is_wrong_is_refused_and_others_stay);
	tcase_add_loop_test(tcase, a_list_of_another_shape_is_refused_with_a_reason, 0,
			    sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tcase, json_says_the_same_as_csv);
	tcase_add_test(tcase, a_skypilot_catalogue_is_known_by_its_columns);
	tcase_add_loop_test(tcase, a_discount_is_taken_off_and_said, 0,
			    sizeof(discounts) / sizeof(discounts[0]));
	tcase_add_loop_test(tcase, the_setting_names_files, 0,
			    sizeof(settings) / sizeof(settings[0]));
	tcase_add_test(tcase, tables_of_shared_import_without_a_wrong_unit);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
