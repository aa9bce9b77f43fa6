/* Traps of feeds that need an answer of their own, which no fixture's rows hold. README.md lists
 * all traps with the tests that have them. */
#include "tests/providers/walk.h"

#include <stdio.h>
#include <string.h>

static struct fetch_request request;

/* The first answer of a feed. */
static bool answer(const struct provider *provider, const char *text)
{
	request = (struct fetch_request){0};
	walk_begin(provider);
	ck_assert_msg(provider->request(&walk_feed, &request, &walk_error), "%s",
		      walk_error.detail);
	return walk_answer(provider, &request, text, NULL);
}

/* learn.microsoft.com, question 1188465: a full page without a link was not the last one. */
START_TEST(a_full_page_of_azure_without_a_link_is_not_the_last)
{
	static char text[1024];
	const struct provider *provider = provider_find("azure");
	size_t length =
		(size_t)snprintf(text, sizeof(text), "{\"NextPageLink\":null,\"Items\":[{}");

	for (int i = 1; i < 100; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, ",{}");
	snprintf(text + length, sizeof(text) - length, "]}");
	ck_assert(answer(provider, text));
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert_ptr_nonnull(strstr(request.url, "&$skip=100"));
	ck_assert(walk_answer(provider, &request, "{\"Items\":[{}],\"NextPageLink\":\"\"}", NULL));
	ck_assert(!provider->request(&walk_feed, &request, &walk_error));
	ck_assert(!error_is_set(&walk_error));
	walk_release();
}
END_TEST

#define AZURE(size, usd)                                                                           \
	"{\"currencyCode\":\"USD\",\"retailPrice\":" usd ",\"armRegionName\":\"eastus\","          \
	"\"effectiveStartDate\":\"2024-01-01T00:00:00Z\",\"armSkuName\":\"" size                   \
	"\",\"unitOfMeasure\":\"1 Hour\",\"type\":\"Consumption\"}"

/* Azure's own list of capabilities says one GPU for fractions and nothing for others (skypilot
 * PR#10650): a size that no table knows has no price per GPU, whatever card its name tells. */
START_TEST(a_size_of_azure_has_the_gpus_that_are_known_or_none)
{
	static const struct {
		const char *type, *accelerator;
		int count_milli;
		bool is_mapped;
	} sizes[] = {
		{"Standard_NC24lds_xl_RTXPRO6000BSE_v6",
		 "Standard_NC24lds_xl_RTXPRO6000BSE_v6, GPUs not told", 1000, false},
		{"Standard_NC256ds_xl_RTXPRO6000BSE_v6", "RTX PRO 6000 Blackwell Server 96GB", 2000,
		 true},
		{"Standard_ND96is_flex_H100_v5", "H100 SXM5 80GB", 8000, true},
		{"Standard_ND96is_MI300X_v5", "MI300X 192GB", 8000, true},
		{"Standard_ND128isr_NDR_GB200_v6", "GB200 (per GPU) 186GB", 4000, true},
		{"Standard_ND128isr_GB300_v6", "GB300 (per GPU) 288GB", 4000, true},
		{"Standard_NC8ads_A10_v4", "A10 24GB", 500, true},
		{"Standard_NV6ads_A10_v5", "A10 24GB", 167, true},
		{"Standard_NCC40ads_H100_v5", "H100 NVL 94GB", 1000, true},
	};
	const struct provider *provider = provider_find("azure");
	size_t found = 0;

	ck_assert(answer(
		provider,
		"{\"Items\":[" AZURE("Standard_NC24lds_xl_RTXPRO6000BSE_v6", "1.64") "," AZURE(
			"Standard_NC256ds_xl_RTXPRO6000BSE_v6",
			"16") "," AZURE("Standard_ND96is_flex_H100_v5",
					"88.488") "," AZURE("Standard_ND96is_MI300X_v5",
							    "48") "," AZURE("Standard_ND128isr_NDR_"
									    "GB200_v6",
									    "108") "," AZURE("Stand"
											     "ard_"
											     "ND128"
											     "isr_"
											     "GB300"
											     "_v6",
											     "120") "," AZURE("Standard_NC8ads_A10_v4",
													      "0.9") "," AZURE("Standard_NV6ads_A10_v5",
															       "0.454") "," AZURE("Standard_NCC40ads_H100_v5",
																		  "7") "]}"));
	ck_assert(walk_finish(provider));
	ck_assert_uint_eq(walk_feed.count, sizeof(sizes) / sizeof(sizes[0]));
	for (size_t i = 0; i < walk_feed.count; i++)
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			const struct offer *offer = &walk_feed.offers[i];

			if (strcmp(offer->instance_type, sizes[j].type) != 0)
				continue;
			found++;
			ck_assert_str_eq(offer->accelerator, sizes[j].accelerator);
			ck_assert_int_eq(offer->count_milli, sizes[j].count_milli);
			ck_assert_int_eq(offer->is_mapped, sizes[j].is_mapped);
		}
	ck_assert_uint_eq(found, walk_feed.count);
	walk_release();
}
END_TEST

#define SKU(description, units, nanos, from)                                                       \
	"{\"description\":\"" description "\",\"category\":{\"resourceGroup\":\"GPU\","            \
	"\"usageType\":\"OnDemand\"},\"serviceRegions\":[\"us-central1\"],\"pricingInfo\":[{"      \
	"\"pricingExpression\":{\"usageUnit\":\"h\",\"tieredRates\":[{\"startUsageAmount\":" from  \
	",\"unitPrice\":{\"currencyCode\":\"USD\",\"units\":\"" units "\",\"nanos\":" nanos        \
	"}}]}}]}"
#define PART_SKU(description, group, unit)                                                         \
	"{\"description\":\"" description "\",\"category\":{\"resourceGroup\":\"" group            \
	"\",\"usageType\":\"OnDemand\"},\"serviceRegions\":[\"us-central1\"],\"pricingInfo\":[{"   \
	"\"pricingExpression\":{\"usageUnit\":\"" unit                                             \
	"\",\"tieredRates\":[{\"startUsageAmount\":0,\"unitPrice\":{\"currencyCode\":\"USD\","     \
	"\"units\":\"0\",\"nanos\":10000000}}]}}]}"
#define G2_HOST                                                                                    \
	PART_SKU("G2 Instance Core running in Americas", "CPU", "h")                               \
	"," PART_SKU("G2 Instance Ram running in Americas", "RAM", "GiBy.h")

/* Whatever stands after it: no other way of selling the same card counts. */
START_TEST(what_google_sells_otherwise_is_not_the_price_on_demand)
{
	static const char *const others[] = {
		SKU("Nvidia L4 GPU attached to Sole Tenancy VMs", "9", "0", "0"),
		SKU("Reserved Nvidia L4 GPU in Americas", "0", "0", "0"),
		SKU("Nvidia L4 GPU Premium in Americas", "9", "0", "0"),
		SKU("Custom Nvidia L4 GPU in Americas", "9", "0", "0"),
		SKU("Nvidia L4 GPU attached to DWS Defined Duration VMs", "0", "1000", "0"),
		SKU("Nvidia L4 GPU in Calendar Mode", "0", "1000", "0"),
		SKU("Suspended Nvidia L4 GPU", "0", "1000", "0"),
	};
	const struct provider *provider = provider_find("gcp-billing-catalog");
	const struct wanted wanted = {
		"gcp", "us-central1", "g2-standard-4", 1000, "", OD, 0, "", 0, UNK, "", 0};
	static char text[8192];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(
			text, sizeof(text), "{\"skus\":[" G2_HOST ",%s,%s],\"nextPageToken\":\"\"}",
			SKU("Nvidia L4 GPU running in Americas", "1", "500000000", "0"), others[i]);
		ck_assert(answer(provider, text));
		ck_assert(walk_finish(provider));
		/* 1.5 + (4 vCPUs + 16 GiB) x 0.01 */
		ck_assert_msg(walk_find(&wanted) && walk_find(&wanted)->price_micros == 1700000,
			      "%s", others[i]);
		walk_release();
	}
	/* A price from so many hours on is none from the first. */
	snprintf(text, sizeof(text), "{\"skus\":[" G2_HOST ",%s],\"nextPageToken\":\"\"}",
		 SKU("Nvidia L4 GPU running in Americas", "1", "0", "744"));
	ck_assert(answer(provider, text));
	ck_assert(!walk_finish(provider));
	walk_release();
}
END_TEST

/* facts/gpu-names.csv: three spellings of one card, which is not the plain H100. */
START_TEST(google_spells_the_mega_card_in_three_ways)
{
	static const char *const spellings[] = {
		SKU("Nvidia H100 80GB Mega GPU running in Americas", "1", "500000000", "0"),
		SKU("Nvidia H100 Mega 80GB GPU running in Americas", "1", "500000000", "0"),
		SKU("Nvidia H100 80GB Plus GPU running in Americas", "1", "500000000", "0"),
	};
	const struct provider *provider = provider_find("gcp-billing-catalog");
	const struct wanted wanted = {
		"gcp", "us-central1", "a3-megagpu-8g", 8000, "", OD, 0, "", 0, UNK, "", 0};
	static char text[4096];

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		snprintf(
			text, sizeof(text),
			"{\"skus\":[%s," PART_SKU(
				"A3Plus Instance Core in X", "CPU",
				"h") "," PART_SKU("A3Plus Instance Ram in X", "RAM",
						  "GiBy.h") "," PART_SKU("SSD backed Local Storage",
									 "LocalSSD",
									 "GiBy.mo") "],"
										    "\"nextPageToke"
										    "n\":\"\"}",
			spellings[i]);
		ck_assert(answer(provider, text));
		ck_assert(walk_finish(provider));
		ck_assert_msg(walk_find(&wanted) != NULL, "%s", spellings[i]);
		/* 8 x 1.5 + (208 vCPUs + 1872 GiB) x 0.01 + 6000 GiB of SSD x 0.01 / 730 */
		ck_assert_int_eq(walk_find(&wanted)->price_micros, 32882192);
		ck_assert_uint_eq(walk_feed.count, 1);
		walk_release();
	}
}
END_TEST

/* The estimator's OCPUs are wrong for some (GB200: 128 for 144), its memory is of one GPU for
 * others, and it says "arm" of x86 machines: vCPUs are the table's, memory is that of all GPUs. */
START_TEST(shapes_of_oracle_are_those_of_the_table)
{
	static const struct {
		const char *type;
		int vcpus, memory_gb;
	} shapes[] = {
		{"BM.GPU.H100.8", 224, 640},
		{"VM.GPU.A10.2", 60, 48},
		{"BM.GPU.GB300.4", 288, 1152},
		{"BM.GPU.MI355X.8", 0, 2304}, /* not told */
	};
	size_t found = 0;

	walk_committed(provider_find("oci"));
	for (size_t i = 0; i < walk_feed.count; i++)
		for (size_t j = 0; j < sizeof(shapes) / sizeof(shapes[0]); j++) {
			const struct offer *offer = &walk_feed.offers[i];

			if (strcmp(offer->instance_type, shapes[j].type) != 0 ||
			    offer->price_kind != OD)
				continue;
			found++;
			ck_assert_int_eq((int)offer->vcpus, shapes[j].vcpus);
			ck_assert_int_eq((int)(offer->memory_gb + 0.5), shapes[j].memory_gb);
		}
	ck_assert_uint_eq(found, sizeof(shapes) / sizeof(shapes[0]));
	walk_release();
}
END_TEST

#define LOCATION                                                                                   \
	"{\"city\":\"Chicago\",\"stateprovince\":\"Illinois\",\"country\":\"United States\","      \
	"\"gpus\":[{\"v0Name\":\"h100-sxm5-80gb\",\"max_count\":1,\"price_per_hr\":2,\"pricing\":" \
	"{\"per_vcpu_hr\":0,\"per_gb_ram_hr\":0,\"per_gb_storage_hr\":0}}]}"

START_TEST(tensordock_answers_in_two_shapes_and_a_third_is_none)
{
	const struct provider *provider = provider_find("tensordock");

	ck_assert(answer(provider, "{\"data\":{\"locations\":[" LOCATION "]}}"));
	ck_assert_uint_eq(walk_feed.count, 1);
	walk_release();
	ck_assert(answer(provider, "{\"data\":[" LOCATION "]}"));
	ck_assert_uint_eq(walk_feed.count, 1);
	walk_release();
	ck_assert(!answer(provider, "{\"data\":{\"instances\":[]}}"));
	ck_assert_ptr_nonnull(strstr(walk_error.detail, "\"locations\""));
	walk_release();
}
END_TEST

static const struct {
	const char *place, *country;
} data_centres[] = {
	{"US-KS-2", "US"}, {"EU-RO-1", "RO"},  {"EUR-IS-1", "IS"}, {"AP-JP-1", "JP"},
	{"OC-AU-1", "AU"}, {"SEA-SG-1", "SG"}, {"CA-MTL-3", "CA"}, {"SA-BR-1", "BR"},
	{"NA-1", ""},	   {"EU-1", ""},       {"XX-YY-1", ""},	   {"us-ks-2", ""},
	{"MARS-1", ""},	   {"", ""},
};

START_TEST(a_continent_of_runpod_is_no_country)
{
	const struct provider *provider = provider_find("runpod-rest");
	char text[512];

	snprintf(
		text, sizeof(text),
		"{\"gpus\":[{\"id\":\"NVIDIA L40S\",\"memory\":48,\"secure\":true,\"price\":{"
		"\"secure\":0.86},\"maxCount\":{\"secure\":1},\"dataCenters\":[{\"id\":\"%s\"}]}]}",
		data_centres[_i].place);
	ck_assert(answer(provider, text));
	ck_assert(walk_finish(provider));
	ck_assert_uint_eq(walk_feed.count, 1);
	ck_assert_str_eq(walk_feed.offers[0].region, data_centres[_i].place);
	ck_assert_str_eq(walk_feed.offers[0].country, data_centres[_i].country);
	walk_release();
}
END_TEST

static const struct {
	const char *place, *region, *country;
} geolocations[] = {
	{"\"Quebec, CA\"", "Quebec, CA", "CA"},
	{"\", US\"", "US", "US"},
	{"\"Alberta, CA, NA\"", "Alberta, CA, NA", "CA"},
	{"\"Germany, DE, EU\"", "Germany, DE, EU", "DE"},
	{"\"somewhere\"", "somewhere", ""},
	{"null", "", ""},
};

START_TEST(where_a_machine_of_vast_stands)
{
	const struct provider *provider = provider_find("vast");
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"offers\":[{\"id\":1,\"machine_id\":1,\"gpu_name\":\"RTX 4090\",\"num_gpus\":1,"
		 "\"gpu_ram\":24564,\"storage_cost\":0,\"dph_base\":0.3,\"dph_total\":0.3,"
		 "\"geolocation\":%s}]}",
		 geolocations[_i].place);
	ck_assert(answer(provider, text));
	ck_assert(walk_finish(provider));
	ck_assert_str_eq(walk_feed.offers[0].region, geolocations[_i].region);
	ck_assert_str_eq(walk_feed.offers[0].country, geolocations[_i].country);
	walk_release();
}
END_TEST

/* What a feed says of the country, in a region that the table has, and in one that it has not. */
static const struct {
	const char *told, *known, *unknown;
} countries[] = {
	{"NO", "NO", "NO"}, {"no", "NO", "NO"}, {"UK", "GB", "GB"}, {"", "FI", ""},
	{"EU", "FI", ""},   {"XX", "FI", ""},	{"FIN", "FI", ""},  {"Finland", "FI", ""},
};

START_TEST(a_country_is_one_or_it_is_looked_up_or_unknown)
{
	const struct provider *provider = provider_find("verda");

	walk_begin(provider);
	for (int i = 0; i < 2; i++) {
		struct offer *offer = feed_add(&walk_feed);

		ck_assert_ptr_nonnull(offer);
		offer->instance_type = "x";
		offer->accelerator = "H100 SXM5 80GB";
		offer->region = i ? "FIN-99" : "FIN-01";
		offer->country = countries[_i].told;
		offer->price_micros = 2000000;
	}
	ck_assert(walk_finish(provider));
	ck_assert_uint_eq(walk_feed.count, 2);
	for (size_t i = 0; i < 2; i++)
		ck_assert_str_eq(walk_feed.offers[i].country,
				 strcmp(walk_feed.offers[i].region, "FIN-01") == 0
					 ? countries[_i].known
					 : countries[_i].unknown);
	walk_release();
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
	Suite *suite = suite_create("traps");
	TCase *tcase = tcase_create("traps");

	tcase_add_test(tcase, a_full_page_of_azure_without_a_link_is_not_the_last);
	tcase_add_test(tcase, a_size_of_azure_has_the_gpus_that_are_known_or_none);
	tcase_add_test(tcase, what_google_sells_otherwise_is_not_the_price_on_demand);
	tcase_add_test(tcase, google_spells_the_mega_card_in_three_ways);
	tcase_add_test(tcase, shapes_of_oracle_are_those_of_the_table);
	tcase_add_test(tcase, tensordock_answers_in_two_shapes_and_a_third_is_none);
	tcase_add_loop_test(tcase, a_continent_of_runpod_is_no_country, 0, COUNT(data_centres));
	tcase_add_loop_test(tcase, where_a_machine_of_vast_stands, 0, COUNT(geolocations));
	tcase_add_loop_test(tcase, a_country_is_one_or_it_is_looked_up_or_unknown, 0,
			    COUNT(countries));
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
