/* Feeds that need no credential: what each trap of each must become. Prices in euros are at 1.14.
 */
#include "server/ingest/exchange.h"
#include "tests/providers/walk.h"

#include <string.h>
#include <unistd.h>

static const struct wanted wanted[] = {
	/* 6.00 EUR; 24 GiB in bytes are the 24 GB of an L4 */
	{"scaleway", "fr-par", "L4-1-24G", 1000, "", OD, 0, "L4 24GB", 855000, NO, "FR", 0},
	{"scaleway", "fr-par", "L4-8-24G", 8000, "", OD, 0, "L4 24GB", 6840000, YES, "FR", 0},
	{"scaleway", "fr-par", "H100-SXM-8-80G", 8000, "", OD, 0, "H100 SXM5 80GB", 26251920, YES,
	 "FR", 0},
	/* on the second page; a word for stock that is not known */
	{"scaleway", "fr-par", "RENDER-S", 1000, "", OD, 0, "P100 PCIe 16GB", 1379400, UNK, "FR",
	 0},
	{"scaleway", "fr-par", "Z9-1-24G", 1000, "", OD, 0, "Z9-1-24G", 570000, UNK, "FR", 0},
	{"scaleway", "pl-waw", "H100-2-80G", 2000, "", OD, 0, "H100 PCIe 80GB", 6224400, UNK, "PL",
	 0},

	/* 2.799999 EUR in 1e-8, without tax: not the Windows plan, not the monthly one */
	{"ovhcloud", "", "h100-380", 1000, "", OD, 0, "H100 PCIe 80GB", 3191999, UNK, "", 0},
	{"ovhcloud", "", "h100-760", 2000, "", OD, 0, "H100 PCIe 80GB", 6384000, UNK, "", 0},
	{"ovhcloud", "", "t2-le-90", 2000, "", OD, 0, "V100S PCIe 32GB", 1824000, UNK, "", 0},
	{"ovhcloud", "", "x9-10", 1000, "", OD, 0, "x9-10", 1140000, UNK, "", 0},

	/* cents; free nodes by centre, of which one is not named */
	{"cloudrift", "us-east-nc-nr-1", "rtx49.1", 1000, "", OD, 0, "RTX 4090 24GB", 390000, YES,
	 "US", 1},
	{"cloudrift", "us-east-nc-nr-1", "rtx49.4", 4000, "", OD, 0, "RTX 4090 24GB", 1565000, NO,
	 "US", TOLD_NONE},
	{"cloudrift", "eu-dc-1", "mi350x.8", 8000, "", OD, 0, "MI350X 288GB", 28000000, UNK, "", 0},
	{"cloudrift", "", "new.1", 1000, "", OD, 0, "RTX PRO 9000", 1000000, UNK, "", 0},

	{"verda", "", "1H100.80S.30V", 1000, "", OD, 0, "H100 SXM5 80GB", 2290000, UNK, "", 0},
	{"verda", "", "1H100.80S.30V", 1000, "", SPOT, 0, "H100 SXM5 80GB", 800000, UNK, "", 0},
	{"verda", "", "2A6000.20V", 2000, "", OD, 0, "RTX A6000 48GB", 980000, UNK, "", 0},
	{"verda", "", "2A6000.20V", 2000, "", SPOT, 0, "RTX A6000 48GB", 343000, UNK, "", 0},
	{"verda", "", "2B300.60V", 2000, "", OD, 0, "B300 SXM 288GB", 9900000, UNK, "", 0},
	{"verda", "", "8V100.48V", 8000, "", OD, 0, "V100 SXM2 16GB", 1120000, UNK, "", 0},
	{"verda", "", "1Q9.10V", 1000, "", OD, 0, "Q9 64GB", 1000000, UNK, "", 0},

	{"thunder", "", "h100_x1", 1000, "", OD, 0, "H100 PCIe 80GB", 2190000, YES, "", 0},
	{"thunder", "", "h100_x8", 8000, "", OD, 0, "H100 PCIe 80GB", 17520000, NO, "", 0},
	{"thunder", "", "a6000_x1", 1000, "", OD, 0, "RTX A6000 48GB", 350000, UNK, "", 0},
	/* of 80 GB, but of which kind nobody says */
	{"thunder", "", "a100xl_x2", 2000, "", OD, 0, "a100xl", 2080000, NO, "", 0},

	{"gcp", "us-central1", "a3-highgpu-8g", 8000, "", OD, 0, "H100 SXM5 80GB", 88490000, UNK,
	 "US", 0},
	{"gcp", "us-central1", "a3-highgpu-8g", 8000, "", SPOT, 0, "H100 SXM5 80GB", 30228800, UNK,
	 "US", 0},
	{"gcp", "us-central1", "a3-highgpu-1g", 1000, "", SPOT, 0, "H100 SXM5 80GB", 3778600, UNK,
	 "US", 0},
	{"gcp", "us-central1", "a4-highgpu-8g", 8000, "", SPOT, 0, "B200 SXM 180GB", 47200000, UNK,
	 "US", 0},
	{"gcp", "europe-west4", "a2-ultragpu-1g", 1000, "", OD, 0, "A100 SXM4 80GB", 5580000, UNK,
	 "NL", 0},
	/* an eighth of a GPU, which the list counts as one */
	{"gcp", "us-central1", "g4-standard-6", 125, "", OD, 0,
	 "RTX PRO 6000 Blackwell Server 96GB", 550000, UNK, "US", 0},
	{"gcp", "us-central1", "z9-gpu-2g", 2000, "", OD, 0, "z9-gpu-2g", 4000000, UNK, "US", 0},

	/* Linux, not Windows; regions by the page's names; an eighth of an L4 */
	{"aws", "us-east-1", "p5.48xlarge", 8000, "", SPOT, 0, "H100 SXM5 80GB", 13652400, UNK,
	 "US", 0},
	{"aws", "us-east-1", "g6f.xlarge", 125, "", SPOT, 0, "L4 24GB", 71200, UNK, "US", 0},
	{"aws", "ap-northeast-1", "g5.12xlarge", 4000, "", SPOT, 0, "A10G 24GB", 2143500, UNK, "JP",
	 0},
	{"aws", "eu-central-1", "p9.96xlarge", 1000, "", SPOT, 0, "p9.96xlarge", 40100000, UNK,
	 "DE", 0},
	{"aws", "us-west-2-lax-1", "g4dn.12xlarge", 4000, "", SPOT, 0, "T4 16GB", 1500000, UNK,
	 "US", 0},
	{"aws", "xx-new-1", "g4dn.xlarge", 1000, "", SPOT, 0, "T4 16GB", 157800, UNK, "", 0},

	/* per GPU-hour in dollars, not the euros, not the monthly price */
	{"oci", "", "BM.GPU.H100.8", 8000, "", OD, 0, "H100 SXM5 80GB", 80000000, UNK, "", 0},
	{"oci", "", "VM.GPU.A10.2", 2000, "", OD, 0, "A10 24GB", 4000000, UNK, "", 0},
	{"oci", "", "VM.GPU.A10.2", 2000, "", SPOT, 0, "A10 24GB", 2000000, UNK, "", 0},
	{"oci", "", "BM.GPU.GB300.4", 4000, "", OD, 0, "GB300 (per GPU) 288GB", 72000000, UNK, "",
	 0},
	{"oci", "", "BM.GPU.MI355X.8", 8000, "", OD, 0, "MI355X 288GB", 68800000, UNK, "", 0},
	/* on demand: not at 0 as a Capacity Block, not Windows, dedicated, reserved or with SQL */
	{"aws-price-list", "us-east-1", "p5.48xlarge", 8000, "", OD, 0, "H100 SXM5 80GB", 55040000,
	 UNK, "US", 0},
	{"aws-price-list", "us-east-1", "g6f.large", 125, "", OD, 0, "L4 24GB", 202000, UNK, "US",
	 0},
	{"aws-price-list", "us-east-1", "p4d.24xlarge", 8000, "", OD, 0, "A100 SXM4 40GB", 21957643,
	 UNK, "US", 0},
	{"aws-price-list", "us-east-1", "p9.96xlarge", 16000, "", OD, 0, "p9.96xlarge", 160000000,
	 UNK, "US", 0},
	{"aws-price-list", "eu-west-1", "g5.xlarge", 1000, "", OD, 0, "A10G 24GB", 1212000, UNK,
	 "IE", 0},
	{"aws-price-list", "us-west-2-lax-1", "g4dn.2xlarge", 1000, "", OD, 0, "T4 16GB", 902000,
	 UNK, "US", 0},
	{"aws-price-list", "us-east-1", "p5.48xlarge", 8000, "standard_no_upfront", RES, 12,
	 "H100 SXM5 80GB", 38530000, UNK, "US", 0},
	/* 328000 / 8760 */
	{"aws-price-list", "us-east-1", "p5.48xlarge", 8000, "standard_all_upfront", RES, 12,
	 "H100 SXM5 80GB", 37442922, UNK, "US", 0},
	/* 5 + 131400 / (3 x 8760) */
	{"aws-price-list", "us-east-1", "p4d.24xlarge", 8000, "standard_partial_upfront", RES, 36,
	 "A100 SXM4 40GB", 10000000, UNK, "US", 0},
	{"aws-price-list", "us-east-1", "p4d.24xlarge", 8000, "convertible_no_upfront", RES, 36,
	 "A100 SXM4 40GB", 14000000, UNK, "US", 0},

	{"oci", "", "BM.GPU.X9.4", 4000, "", OD, 0, "BM.GPU.X9.4", 12000000, UNK, "", 0},
};

static const struct totals totals[] = {
	/* L40S without price, L4-2 with the memory of four, -1 GPUs; neither CPUs nor the ended */
	{"scaleway", 9, 6, 1, 1, 1, 0, 1, 0},
	{"ovhcloud", 6, 4, 1, 1, 1, 0, 0, 0},
	/* a free price, 2 x 64 GB of a 32 GB card, no gpu_count */
	{"cloudrift", 8, 5, 1, 1, 1, 0, 1, 0},
	/* euros, no price, memory that fits in no reading, no name */
	{"verda", 12, 8, 1, 2, 1, 0, 1, 0},
	{"thunder", 7, 4, 1, 2, 1, 0, 0, 0},
	{"gcp", 12, 10, 2, 1, 1, 0, 0, 0},
	{"aws", 8, 7, 1, 0, 1, 0, 0, 0},
	{"oci", 8, 6, 1, 0, 2, 0, 0, 0},
	/* two GPUs where the type has four, not by the hour, not in dollars, half of a reservation,
	 * a term without an option; no price */
	{"aws-price-list", 16, 10, 1, 5, 1, 0, 0, 0},
};

static const struct broken broken[] = {
	{"scaleway", "{\"message\":\"internal\"}", "\"servers\""},
	{"scaleway", "[]", "not a JSON object"},
	{"ovhcloud", "{\"addons\":[]}", "currency"},
	{"ovhcloud", "{\"plans\":[]}", "\"addons\""},
	{"cloudrift", "{\"error\":\"x\"}", "\"data\""},
	{"verda", "{\"code\":\"unauthorized\"}", "not a JSON list"},
	{"thunder", "<html>", "no JSON"},
	{"gcp", "<html>busy</html>", "no column \"name\""},
	{"gcp", "", "no column \"name\""},
	{"aws", "callback(", "no JSON"},
	{"aws", "{\"config\":{\"rate\":\"permonth\",\"regions\":[]}}", "not per hour"},
	{"oci", "{\"items\":null}", "\"items\""},
	{"aws-price-list", "{\"regions\":{}}", "no region"},
	{"aws-price-list", "{\"regions\":{\"a\":{\"regionCode\":\"a\"}}}", "no version"},
	{"aws-price-list",
	 "{\"regions\":{\"a\":{\"regionCode\":\"../a\",\"currentVersionUrl\":\"/AmazonEC2/1/../a/"
	 "\"}}}",
	 "no version"},
};

static const struct borrowed borrowed[] = {
	{"scaleway", "servers-fr-par-1-1", "scaleway-products-servers-fr-par-1.json", NULL},
	{"scaleway", "availability-fr-par-1-1", "scaleway-products-availability-fr-par-1.json",
	 NULL},
	{"ovhcloud", "catalog", "ovhcloud-order-catalog-public-cloud.json", NULL},
	{"cloudrift", "instance-types", "cloudrift-instance-types-list-constructed.json", NULL},
	{"verda", "instance-types", "verda-instance-types.json", NULL},
	{"thunder", "pricing", "thunder-compute-pricing.json", "_v2/pricing"},
	{"thunder", "status", "thunder-compute-pricing.json", "_v2/status"},
	{"oci", "products", "oci-cetools-products.json", NULL},
};

static const struct wanted borrowed_wanted[] = {
	{"scaleway", "fr-par", "L4-8-24G", 8000, "", OD, 0, "L4 24GB", 7182000, NO, "FR", 0},
	{"scaleway", "fr-par", "RENDER-S", 1000, "", OD, 0, "P100 PCIe 16GB", 1391940, YES, "FR",
	 0},
	{"ovhcloud", "", "h100-380", 1000, "", OD, 0, "H100 PCIe 80GB", 3192000, UNK, "", 0},
	{"ovhcloud", "", "a100-180", 1000, "", OD, 0, "A100 PCIe 80GB", 3135000, UNK, "", 0},
	{"cloudrift", "us-east-nc-nr-1", "rtx49-7-50-500-nr.4", 4000, "", OD, 0, "RTX 4090 24GB",
	 1560000, NO, "US", TOLD_NONE},
	{"verda", "", "2A6000.20V", 2000, "", SPOT, 0, "RTX A6000 48GB", 700000, UNK, "", 0},
	{"verda", "", "1V100.6V", 1000, "", OD, 0, "V100 SXM2 16GB", 890000, UNK, "", 0},
	{"thunder", "", "h100_x1", 1000, "", OD, 0, "H100 PCIe 80GB", 2190000, YES, "", 0},
	{"oci", "", "BM.GPU.H100.8", 8000, "", OD, 0, "H100 SXM5 80GB", 80000000, UNK, "", 0},
	{"oci", "", "BM.GPU.B200.8", 8000, "", OD, 0, "B200 SXM 180GB", 112000000, UNK, "", 0},
	{"oci", "", "BM.GPU.GB300.4", 4000, "", OD, 0, "GB300 (per GPU) 288GB", 72000000, UNK, "",
	 0},
};

START_TEST(what_was_quoted_in_euros_is_kept_with_the_rate_and_its_day)
{
	walk_committed(provider_find("scaleway"));
	const struct offer *offer = walk_find(&wanted[0]);

	ck_assert_ptr_nonnull(offer);
	ck_assert_str_eq(offer->original_currency, "EUR");
	ck_assert_str_eq(offer->original_amount, "0.75");
	ck_assert_str_eq(offer->price_basis, "instance, EUR at 1.1400 USD (ECB 2026-09-18)");
	ck_assert_str_eq(offer->zone, "fr-par-1");
	ck_assert(offer->ram_gib > 47.9 && offer->ram_gib < 48.1);
	walk_release();
}
END_TEST

START_TEST(without_a_rate_no_price_in_euros_is_known)
{
	const struct provider *provider = provider_find("ovhcloud");
	struct fetch_request request = {0};

	walk_begin(provider);
	walk_feed.euro = (struct exchange){0};
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(walk_answer(
		provider, &request,
		"{\"locale\":{\"currencyCode\":\"EUR\"},\"addons\":[{\"planCode\":\"l4-90."
		"consumption\",\"product\":\"publiccloud-instance\",\"pricings\":[{\"capacities\":"
		"[\"consumption\"],\"interval\":1,\"intervalUnit\":\"hour\",\"price\":75000000}],"
		"\"blobs\":{\"commercial\":{\"brick\":\"gpu\"},\"technical\":{\"gpu\":{\"number\":"
		"1},"
		"\"os\":{\"family\":\"linux\"}}}}]}",
		NULL));
	ck_assert_uint_eq(walk_feed.count, 1);
	ck_assert_int_eq(walk_feed.offers[0].price_micros, PRICE_UNKNOWN);
	ck_assert_str_eq(walk_feed.offers[0].original_amount, "0.75");
	ck_assert(walk_finish(provider));
	ck_assert_uint_eq(walk_feed.count, 0);
	ck_assert_int_eq(walk_feed.rejected[REJECTED_NO_PRICE], 1);
	walk_release();
}
END_TEST

static const struct {
	const char *csv, *date;
	int64_t micros; /* 0 = refused */
} rates[] = {
	{"TIME_PERIOD,OBS_VALUE\n2026-07-23,1.14\n", "2026-07-23", 1140000},
	/* other columns and order, quotes, the latest day, none on a holiday */
	{"KEY,OBS_VALUE,X,TIME_PERIOD\r\na,1.1,\"a, b\",2026-07-22\r\na,1.2,\"\",2026-07-24\r\n"
	 "a,1.3,,2026-07-23\r\na,NaN,,2026-07-25\r\n",
	 "2026-07-24", 1200000},
	{"TIME_PERIOD,OBS_VALUE\n2026-07-23,114\n", "", 0}, /* in cents? */
	{"TIME_PERIOD,OBS_VALUE\n2026-07-23,0\n", "", 0},
	{"TIME_PERIOD,OBS_VALUE\nyesterday,1.14\n", "", 0},
	{"TIME_PERIOD,VALUE\n2026-07-23,1.14\n", "", 0},
	{"<html>", "", 0},
	{"", "", 0},
};

START_TEST(the_banks_list_gives_the_rate_of_its_last_day)
{
	struct exchange rate;
	struct arena arena;
	struct error error;

	arena_init(&arena, 1 << 20);
	error_init(&error, NULL);
	ck_assert(exchange_parse(rates[_i].csv, strlen(rates[_i].csv), &arena, &rate, &error) ==
		  (rates[_i].micros > 0));
	ck_assert_int_eq(rate.usd_micros, rates[_i].micros);
	ck_assert_str_eq(rate.date, rates[_i].date);
	ck_assert(rates[_i].micros > 0 || error_is_set(&error));
	arena_release(&arena);
}
END_TEST

/* What a parser hands over as it stands, the memory of all GPUs with it. */
static const struct {
	const char *spelling;
	int gpus;
	double memory_gb;
	const char *accelerator; /* NULL = refused for its memory */
} told[] = {
	{"A100 SXM4", 2, 160, "A100 SXM4 80GB"}, {"A100 SXM4", 2, 80, "A100 SXM4 40GB"},
	{"A100 SXM4", 2, 0, "A100 SXM4"},   /* one of two cards */
	{"A100 SXM4", 2, 100, "A100 SXM4"}, /* of neither */
	{"RTX 4090", 2, 48, "RTX 4090 24GB"},	 {"RTX 4090", 2, 96, NULL},
};

START_TEST(memory_tells_apart_what_a_name_does_not)
{
	const struct provider *provider = provider_find("vast");
	struct offer *offer;

	walk_begin(provider);
	offer = feed_add(&walk_feed);
	ck_assert_ptr_nonnull(offer);
	offer->instance_type = "x";
	offer->accelerator = told[_i].spelling;
	offer->count_milli = told[_i].gpus * COUNT_MILLI_ONE;
	offer->memory_gb = told[_i].memory_gb;
	offer->price_micros = 1000000;
	ck_assert(walk_finish(provider));
	ck_assert_uint_eq(walk_feed.count, told[_i].accelerator ? 1 : 0);
	if (told[_i].accelerator)
		ck_assert_str_eq(walk_feed.offers[0].accelerator, told[_i].accelerator);
	else
		ck_assert_int_eq(walk_feed.rejected[REJECTED_MEMORY], 1);
	walk_release();
}
END_TEST

START_TEST(every_provider_has_fixtures)
{
	char path[512];

	snprintf(path, sizeof(path), FIXTURES "/%s", providers[_i]->id);
	ck_assert_msg(access(path, R_OK) == 0, "no %s", path);
	for (size_t i = 0; i < (size_t)_i; i++)
		ck_assert_str_ne(providers[i]->source, providers[_i]->source);
}
END_TEST

int main(void)
{
	static const struct group group = {"feeds without a key", COUNTED(wanted),
					   COUNTED(totals),	  COUNTED(broken),
					   COUNTED(borrowed),	  COUNTED(borrowed_wanted)};
	TCase *extra = tcase_create("euros");

	tcase_add_test(extra, what_was_quoted_in_euros_is_kept_with_the_rate_and_its_day);
	tcase_add_test(extra, without_a_rate_no_price_in_euros_is_known);
	tcase_add_loop_test(extra, the_banks_list_gives_the_rate_of_its_last_day, 0,
			    sizeof(rates) / sizeof(rates[0]));
	tcase_add_loop_test(extra, memory_tells_apart_what_a_name_does_not, 0,
			    sizeof(told) / sizeof(told[0]));
	tcase_add_loop_test(extra, every_provider_has_fixtures, 0, (int)providers_count);
	return walk_run(&group, extra);
}
