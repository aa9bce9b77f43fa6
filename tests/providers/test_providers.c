/*
 * The first five feeds, held to their fixtures: what each of their traps must become. The figures
 * are those of the fixtures, worked by hand in the comments where they are not plain. And what
 * every provider of the table must have.
 */
#include "tests/providers/walk.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define H100 "NVIDIA H100 80GB HBM3"
#define ND "Standard_ND96isr_H100_v5"

static const struct wanted expectations[] = {
	/* USD per GPU-hour x count; stock lists sizes 1, 2, 4, 8 */
	{"runpod", "", H100, 1000, "secure", OD, 0, "H100 SXM5 80GB", 2690000, YES, "", NOT_TOLD},
	{"runpod", "", H100, 3000, "secure", OD, 0, "H100 SXM5 80GB", 8070000, NO, "", NOT_TOLD},
	{"runpod", "", H100, 8000, "secure", OD, 0, "H100 SXM5 80GB", 21520000, YES, "", NOT_TOLD},
	{"runpod", "", H100, 8000, "secure", SPOT, 0, "H100 SXM5 80GB", 14000000, YES, "",
	 NOT_TOLD},
	{"runpod", "", H100, 8000, "secure", RES, 6, "H100 SXM5 80GB", 16640000, UNK, "", NOT_TOLD},
	{"runpod", "", H100, 4000, "community", OD, 0, "H100 SXM5 80GB", 7960000, NO, "", NOT_TOLD},
	{"runpod", "", H100, 1000, "community", SPOT, 0, "H100 SXM5 80GB", 1250000, YES, "",
	 NOT_TOLD},
	/* 0.79000000000000004 in the file; no stock status = sold out, no stock object = not told
	 */
	{"runpod", "", "NVIDIA GeForce RTX 4090", 2000, "secure", OD, 0, "RTX 4090 24GB", 1580000,
	 NO, "", NOT_TOLD},
	{"runpod", "", "NVIDIA GeForce RTX 4090", 2000, "community", OD, 0, "RTX 4090 24GB", 680000,
	 UNK, "", NOT_TOLD},
	{"runpod", "", "NVIDIA L40S", 1000, "secure", OD, 0, "L40S 48GB", 860000, YES, "",
	 NOT_TOLD},
	{"runpod", "", "NVIDIA X900", 1000, "secure", OD, 0, "NVIDIA X900", 1000000, YES, "",
	 NOT_TOLD},
	{"runpod", "", "AMD Instinct MI300X OAM", 8000, "secure", OD, 0, "MI300X 192GB", 15920000,
	 YES, "", NOT_TOLD}, /* sold by eights only */
	{"runpod", "", "NVIDIA H200", 1000, "secure", OD, 0, "H200 SXM 141GB", 3590000, NO, "",
	 NOT_TOLD},

	/* 4 of 80 GB = 1/20; the region's own price */
	{"vultr", "ewr", "vcg-a100-1c-6g-4vram", 50, "", OD, 0, "A100 PCIe 80GB", 123000, YES, "US",
	 NOT_TOLD},
	{"vultr", "ord", "vcg-a100-1c-6g-4vram", 50, "", OD, 0, "A100 PCIe 80GB", 148000, NO, "US",
	 NOT_TOLD},
	{"vultr", "ewr", "vcg-a16-2c-8g-2vram", 125, "", OD, 0, "A16 (per GA107, 16GB)", 59000, NO,
	 "US", NOT_TOLD},
	{"vultr", "ewr", "vcg-a40-8c-40g-16vram", 333, "", OD, 0, "A40 48GB", 575000, NO, "US",
	 NOT_TOLD},
	/* 1536 GB told for eight cards of 180 */
	{"vultr", "ord", "vcg-b200-248c-2826g-1536vram", 8000, "", OD, 0, "B200 SXM 180GB",
	 23120000, NO, "US", NOT_TOLD},
	{"vultr", "ord", "vcg-b200-248c-2826g-1536vram", 8000, "", SPOT, 0, "B200 SXM 180GB",
	 18080000, NO, "US", NOT_TOLD},
	{"vultr", "ord", "vcg-l40s-16c-180g-48vram", 1000, "", SPOT, 0, "L40S 48GB", 848000, NO,
	 "US", NOT_TOLD},
	{"vultr", "", "vcg-a100-12c-120g-80vram", 1000, "", OD, 0, "A100 PCIe 80GB", 2397000, NO,
	 "", NOT_TOLD},
	{"vultr", "ewr", "vcg-z900-12c-120g-64vram", 1000, "", OD, 0, "NVIDIA_Z900", 1500000, NO,
	 "US", NOT_TOLD},
	/* its id says l40; in stock */
	{"vultr", "ewr", "vbm-64c-2048gb-8-l40-gpu", 8000, "bare_metal", OD, 0, "L40S 48GB",
	 10992000, YES, "US", NOT_TOLD},
	{"vultr", "ord", "vbm-256c-2048gb-8-mi300x-gpu", 8000, "bare_metal", SPOT, 0,
	 "MI300X 192GB", 14720000, YES, "US", NOT_TOLD},
	/* sea answers 404: not known */
	{"vultr", "sea", "vbm-72c-480gb-gh200-gpu", 1000, "bare_metal", OD, 0, "GH200 96GB",
	 1990000, UNK, "US", NOT_TOLD},
	{"vultr", "sea", "vbm-112c-2048gb-8-h999-gpu", 8000, "bare_metal", OD, 0,
	 "vbm-112c-2048gb-8-h999-gpu", 20000000, UNK, "US", NOT_TOLD},

	{"linode", "id-cgk", "g1-gpu-rtx6000-1", 1000, "", OD, 0, "Quadro RTX 6000 24GB", 1500000,
	 NO, "ID", NOT_TOLD},
	{"linode", "us-lax", "g1-gpu-rtx6000-1", 1000, "", OD, 0, "Quadro RTX 6000 24GB", 1500000,
	 YES, "US", NOT_TOLD},
	{"linode", "us-lax", "g1-gpu-rtx6000-4", 4000, "", OD, 0, "Quadro RTX 6000 24GB", 6000000,
	 NO, "US", NOT_TOLD},
	{"linode", "us-lax", "g2-gpu-rtx4000a2-hs", 2000, "", OD, 0, "RTX 4000 Ada 20GB", 1040000,
	 YES, "US", NOT_TOLD},
	/* a price of its own; availability not told there */
	{"linode", "id-cgk", "g2-gpu-rtx4000a2-hs", 2000, "", OD, 0, "RTX 4000 Ada 20GB", 1250000,
	 UNK, "ID", NOT_TOLD},
	{"linode", "", "g2-gpu-rtx4000a1-s", 1000, "", OD, 0, "RTX 4000 Ada 20GB", 350000, UNK, "",
	 NOT_TOLD},
	/* near an id of the table, and another card */
	{"linode", "", "g3-gpu-rtx4000b1-s", 1000, "", OD, 0, "g3-gpu-rtx4000b1-s", 520000, UNK, "",
	 NOT_TOLD},

	/* not the row of the future, of the past, of another meter, of a volume tier */
	{"azure", "eastus", ND, 8000, "", OD, 0, "H100 SXM5 80GB", 98320000, UNK, "US", NOT_TOLD},
	{"azure", "eastus", ND, 8000, "", SPOT, 0, "H100 SXM5 80GB", 28990000, UNK, "US", NOT_TOLD},
	/* totals of a term: 551237 / 8760, 1136932 / 26280 */
	{"azure", "eastus", ND, 8000, "", RES, 12, "H100 SXM5 80GB", 62926598, UNK, "US", NOT_TOLD},
	{"azure", "eastus", ND, 8000, "", RES, 36, "H100 SXM5 80GB", 43262253, UNK, "US", NOT_TOLD},
	/* hourly already */
	{"azure", "eastus", ND, 8000, "savings_plan", RES, 12, "H100 SXM5 80GB", 67840800, UNK,
	 "US", NOT_TOLD},
	{"azure", "eastus", ND, 8000, "savings_plan", RES, 36, "H100 SXM5 80GB", 43260800, UNK,
	 "US", NOT_TOLD},
	{"azure", "eastus", "Standard_NV6ads_A10_v5", 167, "", OD, 0, "A10 24GB", 454000, UNK, "US",
	 NOT_TOLD},
	/* "100 Hours"; NVL of 94 GB, not 80 */
	{"azure", "westeurope", "Standard_NC40ads_H100_v5", 1000, "", OD, 0, "H100 NVL 94GB",
	 6980000, UNK, "NL", NOT_TOLD},
	{"azure", "eastus", "Standard_ND128isr_X999_v9", 1000, "", OD, 0,
	 "Standard_ND128isr_X999_v9", 200000000, UNK, "US", NOT_TOLD},

	{"lambda", "", "gpu_1x_a10", 1000, "", OD, 0, "A10 24GB", 750000, NO, "",
	 NOT_TOLD}, /* sold out */
	{"lambda", "us-west-1", "gpu_1x_a100", 1000, "", OD, 0, "A100 SXM4 80GB", 1990000, YES,
	 "US", NOT_TOLD},
	{"lambda", "us-east-1", "gpu_8x_h100_sxm5gdr", 8000, "", OD, 0, "H100 SXM5 80GB", 35920000,
	 YES, "US", NOT_TOLD},
	{"lambda", "europe-central-1", "gpu_8x_h100_sxm5gdr", 8000, "", OD, 0, "H100 SXM5 80GB",
	 35920000, YES, "DE", NOT_TOLD},
	{"lambda", "us-south-1", "gpu_8x_a100", 8000, "", OD, 0, "A100 SXM4 40GB", 10320000, YES,
	 "US", NOT_TOLD},
	{"lambda", "us-west-1", "gpu_2x_z9", 2000, "", OD, 0, "Z9 (32 GB)", 3000000, YES, "US",
	 NOT_TOLD},
};

/* seen, accepted, unmapped; refused for schema, price missing, absurd, memory, duplicate */
static const struct totals totals[] = {
	/* H100 48 rows, 4090 4, L40S 1, X900 1, H200 1, MI300X 1; unknown, B300, A5000 at 0, spot
	 * at the list price, A30 at 22 USD, A40 with 96 GB */
	{"runpod", 62, 56, 1, 1, 2, 2, 1, 0},
	{"vultr", 16, 14, 2, 0, 1, 0, 1, 0},
	{"linode", 8, 7, 1, 0, 1, 0, 0, 0},
	/* pounds and gigabytes; MI300X at 0; two other meters of one machine */
	{"azure", 14, 9, 1, 2, 1, 0, 0, 2},
	{"lambda", 7, 6, 1, 0, 0, 0, 1, 0},
};

static const struct broken broken[] = {
	{"runpod", "<html>busy</html>", "no JSON"},
	{"runpod", "", "no JSON"},
	{"runpod", "[]", "not a JSON object"},
	{"runpod", "{\"data\":{\"gpuTypes\":[", "no JSON"},
	{"runpod", "{\"data\":null}", "\"data\""},
	{"runpod", "{\"data\":{\"gpuTypes\":{}}}", "\"gpuTypes\""},
	{"runpod", "{\"errors\":[{\"message\":\"too complex\"}],\"data\":{\"gpuTypes\":[]}}",
	 "too complex"},
	{"vultr", "{\"error\":\"Invalid API token\",\"status\":401}", "\"plans\""},
	{"linode", "{\"data\":[]}", "pages"},
	{"linode", "{\"errors\":[{\"reason\":\"x\"}]}", "\"data\""},
	{"azure", "{\"Items\":null}", "\"Items\""},
	{"azure", "{\"Items\":[],\"NextPageLink\":\"https://evil.example/api\"}", "evil.example"},
	{"azure", "{\"Items\":[],\"NextPageLink\":\"https://prices.azure.com.evil.example/\"}",
	 "evil.example"},
	{"azure", "{\"Items\":[],\"NextPageLink\":\"file:///etc/passwd\"}", "not on"},
	{"lambda", "{\"data\":[]}", "\"data\""},
};

/* The same feeds in the recordings of ../shared. */
static const struct borrowed borrowed[] = {
	{"runpod", "gputypes", "runpod-graphql-gputypes-full-constructed.json", NULL},
	{"vultr", "plans-1", "vultr-plans.json", NULL},
	{"vultr", "metal-1", "vultr-plans-metal.json", NULL},
	{"vultr", "availability-ewr", "vultr-regions-availability.json", NULL},
	{"linode", "types-1", "linode-types.json", NULL},
	{"azure", "prices-1", "azure-retail-prices-gpu-constructed.json", NULL},
	{"lambda", "instance-types", "lambda-instance-types-full-shape.json", NULL},
};

static const struct wanted borrowed_wanted[] = {
	{"runpod", "", H100, 8000, "secure", OD, 0, "H100 SXM5 80GB", 21520000, YES, "", NOT_TOLD},
	{"runpod", "", "NVIDIA B200", 8000, "secure", OD, 0, "B200 SXM 180GB", 47840000, NO, "",
	 NOT_TOLD},
	/* half of an 80 GB card; its region lists only what is in stock */
	{"vultr", "ewr", "vcg-a100-6c-60g-40vram", 500, "", OD, 0, "A100 PCIe 80GB", 1397000, NO,
	 "", NOT_TOLD},
	{"vultr", "sea", "vbm-112c-2048gb-8-h100-gpu", 8000, "bare_metal", SPOT, 0,
	 "H100 SXM5 80GB", 18400000, UNK, "", NOT_TOLD},
	{"linode", "", "g1-gpu-rtx6000-4", 4000, "", OD, 0, "Quadro RTX 6000 24GB", 6000000, UNK,
	 "", NOT_TOLD},
	{"azure", "eastus", ND, 8000, "", RES, 12, "H100 SXM5 80GB", 62926598, UNK, "US", NOT_TOLD},
	{"azure", "eastus", "Standard_NC40ads_H100_v5", 1000, "", OD, 0, "H100 NVL 94GB", 6980000,
	 UNK, "US", NOT_TOLD},
	{"lambda", "us-west-1", "gpu_8x_h100_sxm5gdr", 8000, "", OD, 0, "H100 SXM5 80GB", 35920000,
	 YES, "US", NOT_TOLD},
	{"lambda", "", "gpu_8x_v100", 8000, "", OD, 0, "V100 SXM2 16GB", 4400000, NO, "", NOT_TOLD},
};

START_TEST(deep_nesting_is_refused_before_it_is_parsed)
{
	static char deep[20001];
	const struct provider *provider = provider_find("runpod");
	struct fetch_request request = {0};

	memset(deep, '[', sizeof(deep) - 1);
	walk_begin(provider);
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(!walk_answer(provider, &request, deep, NULL));
	ck_assert_ptr_nonnull(strstr(walk_error.detail, "levels"));
	walk_release();
}
END_TEST

/* Reported six times off the portal: MicrosoftDocs/azure-docs#72349. */
START_TEST(spot_prices_of_azure_are_marked_as_indicative)
{
	int spot = 0;

	walk_committed(provider_find("azure"));
	for (size_t i = 0; i < walk_feed.count; i++) {
		const struct offer *offer = &walk_feed.offers[i];

		spot += offer->price_kind == SPOT;
		ck_assert_int_eq(strstr(offer->price_basis, "indicative") != NULL,
				 offer->price_kind == SPOT);
	}
	ck_assert_int_gt(spot, 0);
	walk_release();
}
END_TEST

START_TEST(descriptors_and_fixtures_are_complete)
{
	const struct provider *provider = providers[_i];
	char folder[512];

	ck_assert_ptr_eq(provider_find(provider->source), provider);
	ck_assert_str_eq(provider_find(provider->id)->id, provider->id);
	ck_assert(strncmp(provider->base_url, "https://", 8) == 0);
	ck_assert(provider->base_url[strlen(provider->base_url) - 1] != '/');
	ck_assert_uint_gt(provider->refresh_seconds, 0);
	ck_assert_uint_gt(provider->pages_max, 0);
	ck_assert_uint_ge(provider->body_max, 1 << 20);
	ck_assert_ptr_nonnull(provider->pages);
	ck_assert_ptr_nonnull(provider->pages[0]);
	ck_assert_ptr_nonnull(provider->documentation);
	snprintf(folder, sizeof(folder), FIXTURES "/%s", provider->id);
	ck_assert_msg(access(folder, X_OK) == 0, "%s has no fixture", provider->id);
	ck_assert_ptr_null(provider_find("nobody"));
}
END_TEST

int main(void)
{
	static const struct group group = {
		.name = "providers",
		.wanted = expectations,
		.wanted_count = sizeof(expectations) / sizeof(expectations[0]),
		.totals = totals,
		.totals_count = sizeof(totals) / sizeof(totals[0]),
		.broken = broken,
		.broken_count = sizeof(broken) / sizeof(broken[0]),
		.borrowed = borrowed,
		.borrowed_count = sizeof(borrowed) / sizeof(borrowed[0]),
		.borrowed_wanted = borrowed_wanted,
		.borrowed_wanted_count = sizeof(borrowed_wanted) / sizeof(borrowed_wanted[0]),
	};
	TCase *tcase = tcase_create("table");

	tcase_add_loop_test(tcase, descriptors_and_fixtures_are_complete, 0, (int)providers_count);
	tcase_add_test(tcase, deep_nesting_is_refused_before_it_is_parsed);
	tcase_add_test(tcase, spot_prices_of_azure_are_marked_as_indicative);
	return walk_run(&group, tcase);
}
