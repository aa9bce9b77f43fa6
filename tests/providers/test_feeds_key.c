/* Feeds that need a key: what each trap of each must become. Prices in euros are at 1.14. */
#include "tests/providers/walk.h"

#include <string.h>

#define ILLINOIS "Chicago, Illinois"

static const struct wanted wanted[] = {
	/* dph_base + 50 GB at 0.144 a month of 720 h = 0.01 */
	{"vast", "Quebec, CA", "machine-101-1x", 1000, "community", OD, 0, "RTX 4090 24GB", 330000,
	 YES, "CA", 0},
	{"vast", "Quebec, CA", "machine-101-1x", 1000, "community", SPOT, 0, "RTX 4090 24GB",
	 223300, YES, "CA", 0},
	/* 48 GB on a card of 24: modified; no place is told */
	{"vast", "", "machine-102-1x", 1000, "unverified", OD, 0, "RTX 4090 48GB", 460000, YES, "",
	 0},
	/* the memory tells the card; a disk that costs nothing; one that is smaller than asked */
	{"vast", "US", "machine-103-1x", 1000, "datacenter", OD, 0, "A100 SXM4 40GB", 700000, YES,
	 "US", 0},
	{"vast", "Hungary, HU", "machine-104-1x", 1000, "community", OD, 0, "A100 SXM4 80GB",
	 904000, YES, "HU", 0},
	{"vast", "somewhere", "machine-105-1x", 1000, "community", OD, 0, "RTX 9999", 510000, YES,
	 "", 0},
	{"vast", "Hungary, HU", "machine-201-2x", 2000, "community", OD, 0, "Quadro RTX 8000 48GB",
	 510000, NO, "HU", 0},
	/* 81559 MiB are an H100; the dearer of two offers of one machine */
	{"vast", "US", "machine-301-8x", 8000, "datacenter", OD, 0, "H100 SXM5 80GB", 18010000, YES,
	 "US", 0},
	{"vast", "US", "machine-301-8x", 8000, "datacenter", SPOT, 0, "H100 SXM5 80GB", 9210000,
	 YES, "US", 0},

	/* not Windows; a type that is not known, half a card */
	{"aws-ec2-spot-history", "us-east-1", "g6e.xlarge", 1000, "", SPOT, 0, "L40S 48GB", 781600,
	 UNK, "US", 0},
	{"aws-ec2-spot-history", "us-east-1", "p9.96xlarge", 1000, "", SPOT, 0, "p9.96xlarge",
	 40000000, UNK, "US", 0},
	{"aws-ec2-spot-history", "us-east-1", "gr6f.4xlarge", 500, "", SPOT, 0, "L4 24GB", 100000,
	 UNK, "US", 0},
	{"aws-ec2-spot-history", "eu-west-1", "g5.12xlarge", 4000, "", SPOT, 0, "A10G 24GB",
	 2143500, UNK, "IE", 0},

	/* 8 x 9.8 + 208 x 0.03 + 1872 x 0.0025 + 6000 GiB x 0.08 / 730 */
	{"gcp-billing-catalog", "us-central1", "a3-highgpu-8g", 8000, "", OD, 0, "H100 SXM5 80GB",
	 89977534, UNK, "US", 0},
	/* 2.25 + 26 x 0.01 + 234 x 0.001 + 750 GiB x 0.04 / 730: sold as spot only */
	{"gcp-billing-catalog", "us-central1", "a3-highgpu-1g", 1000, "", SPOT, 0, "H100 SXM5 80GB",
	 2785096, UNK, "US", 0},
	/* the SSD is not in the commitment */
	{"gcp-billing-catalog", "us-central1", "a3-highgpu-8g", 8000, "", RES, 12, "H100 SXM5 80GB",
	 64561534, UNK, "US", 0},
	/* a slice has everything in it, and this row calls itself on demand */
	{"gcp-billing-catalog", "us-central1", "a4-highgpu-8g", 8000, "", SPOT, 0, "B200 SXM 180GB",
	 64480000, UNK, "US", 0},
	/* 0.616 + 4 x 0.0275 + 16 x 0.00322 */
	{"gcp-billing-catalog", "europe-west4", "g2-standard-4", 1000, "", OD, 0, "L4 24GB", 777520,
	 UNK, "NL", 0},

	/* free in two places on demand, nowhere as spot; the other way round */
	{"verda-account", "FIN-01", "1H100.80S.30V", 1000, "", OD, 0, "H100 SXM5 80GB", 2290000,
	 YES, "FI", 0},
	{"verda-account", "FIN-03", "1H100.80S.30V", 1000, "", OD, 0, "H100 SXM5 80GB", 2290000,
	 YES, "FI", 0},
	{"verda-account", "", "1H100.80S.30V", 1000, "", SPOT, 0, "H100 SXM5 80GB", 800000, NO, "",
	 0},
	{"verda-account", "", "8V100.48V", 8000, "", OD, 0, "V100 SXM2 16GB", 1120000, NO, "", 0},
	{"verda-account", "ICE-01", "8V100.48V", 8000, "", SPOT, 0, "V100 SXM2 16GB", 400000, YES,
	 "IS", 0},
	/* 14 and 12.5 % under 2.29; a contract that is not offered, and one of weeks */
	{"verda-account", "", "1H100.80S.30V", 1000, "", RES, 3, "H100 SXM5 80GB", 1969400, UNK, "",
	 0},
	{"verda-account", "", "1H100.80S.30V", 1000, "", RES, 6, "H100 SXM5 80GB", 2003750, UNK, "",
	 0},

	/* stock of one is told a data centre; of two nobody knows, unless there is none */
	{"runpod-rest", "US-KS-2", "NVIDIA L40S", 1000, "secure", OD, 0, "L40S 48GB", 860000, YES,
	 "US", 0},
	{"runpod-rest", "US-KS-2", "NVIDIA L40S", 2000, "secure", OD, 0, "L40S 48GB", 1720000, UNK,
	 "US", 0},
	{"runpod-rest", "EU-RO-1", "NVIDIA L40S", 2000, "secure", OD, 0, "L40S 48GB", 1720000, NO,
	 "RO", 0},
	{"runpod-rest", "", "NVIDIA L40S", 1000, "community", OD, 0, "L40S 48GB", 790000, YES, "",
	 0},
	{"runpod-rest", "", "NVIDIA H100 80GB HBM3", 1000, "secure", OD, 0, "H100 SXM5 80GB",
	 2690000, YES, "", 0},

	{"digitalocean", "nyc2", "gpu-h100x1-80gb", 1000, "", OD, 0, "H100 SXM5 80GB", 3390000, YES,
	 "US", 0},
	{"digitalocean", "tor1", "gpu-h100x1-80gb", 1000, "", OD, 0, "H100 SXM5 80GB", 3390000, YES,
	 "CA", 0},
	{"digitalocean", "ams3", "gpu-h100x8-640gb", 8000, "", OD, 0, "H100 SXM5 80GB", 23920000,
	 YES, "NL", 0},
	/* on the second page; the memory is the size's; no regions, not available, spot */
	{"digitalocean", "", "gpu-mi300x8-1536gb", 8000, "", OD, 0, "MI300X 192GB", 15920000, NO,
	 "", 0},
	{"digitalocean", "", "gpu-l40sx1-48gb", 1000, "", OD, 0, "L40S 48GB", 1570000, NO, "", 0},
	{"digitalocean", "atl1", "gpu-mi350x8-2304gb-spot", 8000, "", SPOT, 0, "MI350X 288GB",
	 12000000, YES, "US", 0},
	{"digitalocean", "zzz1", "gpu-z1x1-10gb", 1000, "", OD, 0, "acme_z1", 1000000, YES, "", 0},

	/* 1.90 a GPU and 0.0005 a GB of RAM: + 180 GB, and 8 x 1.90 + 1440 GB */
	{"hyperstack", "CANADA-1", "n3-H100x1", 1000, "", OD, 0, "H100 PCIe 80GB", 1990000, YES,
	 "CA", 100},
	{"hyperstack", "CANADA-1", "n3-H100x8", 8000, "", OD, 0, "H100 PCIe 80GB", 15920000, NO,
	 "CA", TOLD_NONE},
	{"hyperstack", "CANADA-1", "n3-H100x1-spot", 1000, "", SPOT, 0, "H100 PCIe 80GB", 1610000,
	 YES, "CA", 0},
	/* an item for the whole machine */
	{"hyperstack", "NORWAY-1", "n3-A100x8", 8000, "", OD, 0, "A100 PCIe 80GB", 9990000, NO,
	 "NO", 0},
	/* not next year's price, not last year's */
	{"hyperstack", "US-1", "n3-L40x2", 2000, "", OD, 0, "L40 48GB", 2000000, YES, "US", 0},
	{"hyperstack", "US-1", "n9-Q7x1", 1000, "", OD, 0, "Q7-SXM", 3000000, YES, "US", 0},

	/* 0.2 + 6 x 0.003 + 32 x 0.002 + 100 x 0.00005: half of 12 vCPUs; then all of them */
	{"tensordock", ILLINOIS, "geforcertx3090-pcie-24gb", 1000, "", OD, 0, "RTX 3090 24GB",
	 287000, UNK, "US", 0},
	{"tensordock", ILLINOIS, "geforcertx3090-pcie-24gb", 2000, "", OD, 0, "RTX 3090 24GB",
	 569000, UNK, "US", 0},
	/* 2.2 + 0.024 + 0.064 + 0.005; none left */
	{"tensordock", ILLINOIS, "h100-sxm5-80gb", 1000, "", OD, 0, "H100 SXM5 80GB", 2293000, NO,
	 "US", 0},
	{"tensordock", ILLINOIS, "zz-1", 1000, "", OD, 0, "zz-1", 1093000, UNK, "US", 0},

	/* 0.05 + 8 x 0.0025 + 32 x 0.0038 + 100 x 0.00013 + 0.0055 */
	{"cudo", "br-saopaulo-1", "cascade-lake", 1000, "", OD, 0, "RTX 3080 10GB", 210100, YES,
	 "BR", 0},
	{"cudo", "br-saopaulo-1", "cascade-lake", 2000, "", OD, 0, "RTX 3080 10GB", 401700, YES,
	 "BR", 0},
	/* 4 vCPUs at most, so 15 GiB at most: 0.52 + 0.0084 + 0.051 + 0.013 + 0.0055 */
	{"cudo", "no-luster-1", "epyc-rome-rtx-a5000", 1000, "", OD, 0, "RTX A5000 24GB", 597900,
	 NO, "NO", 0},
	/* 16 vCPUs at least: 0.87 + 0.04 + 0.1216 + 0.013 + 0.0055 */
	{"cudo", "gb-bournemouth-1", "sapphire", 1000, "", OD, 0, "L40S 48GB", 1050100, YES, "GB",
	 0},
	{"cudo", "se-x-1", "new", 1000, "", OD, 0, "Z9", 1160100, YES, "SE", 0},

	{"hotaisle", "", "1x-MI300X-13c", 1000, "", OD, 0, "MI300X 192GB", 1990000, YES, "", 12},
	{"hotaisle", "", "8x-MI300X-104c", 8000, "", OD, 0, "MI300X 192GB", 15920000, NO, "",
	 TOLD_NONE},
	{"hotaisle", "", "1x-MI999-13c", 1000, "", OD, 0, "MI999", 3000000, YES, "", 0 + 1},

	/* per GPU; one of three free devices can be used; spot for containers only */
	{"jarvislabs", "india-noida-01", "L4", 1000, "container", OD, 0, "L4 24GB", 440000, YES,
	 "IN", 0},
	{"jarvislabs", "india-noida-01", "L4", 2000, "container", OD, 0, "L4 24GB", 880000, NO,
	 "IN", 0},
	{"jarvislabs", "india-noida-01", "L4", 2000, "container", SPOT, 0, "L4 24GB", 580000, YES,
	 "IN", 0},
	{"jarvislabs", "india-noida-01", "L4", 2000, "vm", OD, 0, "L4 24GB", 880000, YES, "IN", 0},
	/* null is a VM; how many GPUs is not told: two are free */
	{"jarvislabs", "europe-01", "H200", 2000, "vm", OD, 0, "H200 SXM 141GB", 7600000, YES, "",
	 0},
	/* of 40 GB, but of which kind nobody says */
	{"jarvislabs", "india-noida-01", "A100", 1000, "vm", OD, 0, "A100", 790000, YES, "IN", 0},
	{"jarvislabs", "nowhere-1", "RTX 9", 1000, "vm", OD, 0, "RTX 9", 1000000, NO, "", 0},

	/* 0.85 EUR where it exists; "$1.60" is dollars, and sold out */
	{"seeweb", "it-fr2", "ECS1GPU7", 1000, "", OD, 0, "L40S 48GB", 969000, UNK, "IT", 0},
	{"seeweb", "it-mi2", "ECS1GPU7", 1000, "", OD, 0, "L40S 48GB", 969000, UNK, "IT", 0},
	{"seeweb", "it-fr2", "ECS1GPU9", 1000, "", OD, 0, "MI300X 192GB", 1600000, NO, "IT", 0},
	{"seeweb", "ch-lug1", "ECS2GPU3", 2000, "", OD, 0, "A100 PCIe 80GB", 2257200, UNK, "", 0},
	{"seeweb", "", "ECS1GPUX", 1000, "", OD, 0, "H100 80GB", 2154600, UNK, "", 0},

	{"shadeform", "", "NVIDIA A100 80GB PCIe", 1000, "runpod", OD, 0, "A100 PCIe 80GB", 2030000,
	 YES, "", 0},
	{"shadeform", "us-central-2", "gpu_8x_h100", 8000, "massedcompute", OD, 0, "H100 SXM5 80GB",
	 23920000, NO, "US", 0},
	{"shadeform", "us-x-1", "gpu_8x_h100", 8000, "massedcompute", OD, 0, "H100 SXM5 80GB",
	 23920000, YES, "US", 0},
	{"shadeform", "CANADA-1", "n3-H100x8", 8000, "hyperstack", OD, 0, "H100 PCIe 80GB",
	 19000000, YES, "CA", 0},
	{"shadeform", "eu-1", "gpu_1x_a6000", 1000, "lambdalabs", OD, 0, "RTX A6000 48GB", 570000,
	 YES, "", 0},
	{"shadeform", "", "z", 1000, "new", OD, 0, "Z100", 1000000, UNK, "", 0},

	{"primeintellect", "US-KS-2", "NVIDIA A100 80GB PCIe", 1000, "runpod/secure_cloud", OD, 0,
	 "A100 PCIe 80GB", 1656800, YES, "US", 0},
	{"primeintellect", "CA-MTL-1", "NVIDIA H100 80GB HBM3", 1000, "runpod/secure_cloud", OD, 0,
	 "H100 SXM5 80GB", 2706800, YES, "CA", 0},
	/* the price of the whole offer: three cost more than four */
	{"primeintellect", "somewhere", "h100x3", 3000, "datacrunch/secure_cloud", OD, 0,
	 "H100 SXM5 80GB", 4990000, NO, "FI", 0},
	{"primeintellect", "somewhere", "h100x4", 4000, "datacrunch/community_cloud", SPOT, 0,
	 "H100 SXM5 80GB", 4800000, UNK, "FI", 0},
	{"primeintellect", "X", "z1", 1000, "new", OD, 0, "Z1_10GB", 500000, YES, "", 0},
};

static const struct totals totals[] = {
	/* 0 GPUs, no storage_cost, no price; two offers of one machine */
	{"vast", 14, 10, 2, 2, 1, 0, 0, 1},
	/* no price; neither zone nor time */
	{"aws-ec2-spot-history", 8, 6, 1, 1, 1, 0, 0, 0},
	/* pods of 900 GPUs; a free card; 96 GB of one of 24 */
	{"runpod-rest", 10, 7, 1, 1, 1, 0, 1, 0},
	/* priced in euros; no price; twice the memory of its card, under both contracts too */
	{"verda-account", 25, 19, 3, 2, 1, 0, 3, 0},
	/* GPUs without the RAM of their machine */
	{"gcp-billing-catalog", 22, 21, 0, 0, 1, 0, 0, 0},
	/* 141 GB for eight cards; a free size */
	{"digitalocean", 9, 7, 1, 0, 1, 0, 1, 0},
	{"hyperstack", 8, 6, 1, 1, 1, 0, 0, 0},
	/* no price for RAM, a GPU for nothing */
	{"tensordock", 7, 4, 1, 1, 2, 0, 0, 0},
	{"cudo", 8, 5, 1, 1, 2, 0, 0, 0},
	{"hotaisle", 5, 3, 1, 1, 1, 0, 0, 0},
	{"jarvislabs", 13, 10, 2, 1, 1, 0, 1, 0},
	{"seeweb", 7, 5, 1, 1, 1, 0, 0, 0},
	{"shadeform", 9, 6, 1, 1, 1, 0, 1, 0},
	/* paid in advance, in euros; no price; 96 GB of a card of 48 */
	{"primeintellect", 9, 5, 1, 2, 1, 0, 1, 0},
};

static const struct broken broken[] = {
	{"vast", "API requests too frequent", "no JSON"},
	{"vast", "{\"success\":false}", "\"offers\""},
	{"aws-ec2-spot-history", "<html>", "DescribeRegions"},
	{"aws-ec2-spot-history", "<item><regionName>../x</regionName></item>", "\"../x\""},
	{"verda-account", "{\"access_token\":\"a\\nb\"}", "access_token"},
	{"verda-account", "{}", "access_token"},
	{"runpod-rest", "{\"title\":\"Unauthorized\"}", "\"gpus\""},
	{"gcp-billing-catalog", "{\"error\":{\"code\":403}}", "\"skus\""},
	{"gcp-billing-catalog", "{\"skus\":[]}", "no GPU"},
	{"digitalocean", "{\"id\":\"Unauthorized\"}", "\"sizes\""},
	{"digitalocean",
	 "{\"sizes\":[{}],\"links\":{\"pages\":{\"next\":\"https://evil.example/v2\"}}}",
	 "evil.example"},
	{"hyperstack", "{\"status\":false}", "not a JSON list"},
	{"tensordock", "{\"error\":\"x\"}", "\"locations\""},
	{"cudo", "[]", "not a JSON object"},
	{"hotaisle", "{}", "not a JSON list"},
	{"jarvislabs", "{\"server_meta\":{}}", "\"server_meta\""},
	{"seeweb", "{\"status\":\"error\"}", "\"plans\""},
	{"shadeform", "{\"error\":\"x\"}", "\"instance_types\""},
	{"primeintellect", "{\"items\":[]}", "totalCount"},
};

static const struct borrowed borrowed[] = {
	{"gcp-billing-catalog", "skus-1", "gcp-billing-skus-gpu-constructed.json", NULL},
	{"vast", "gpus-1", "vast-bundles-constructed.json", NULL},
	{"digitalocean", "sizes-1", "digitalocean-sizes.json", NULL},
	{"tensordock", "locations", "tensordock-v2-locations.json", NULL},
	{"cudo", "machine-types", "cudo-machine-types.json", NULL},
	{"hotaisle", "available", "hotaisle-available-constructed.json", NULL},
	{"jarvislabs", "server-meta", "jarvislabs-server-meta.json", NULL},
	{"seeweb", "plans", "seeweb-plans.json", NULL},
	{"shadeform", "instances", "shadeform-instances-types.json", NULL},
	{"primeintellect", "gpus-1", "primeintellect-availability-response.json", NULL},
};

static const struct wanted borrowed_wanted[] = {
	/* 8 x 11.06 + 208 x 0.03222 + 1872 x 0.002817 + 6000 x 0.08 / 730 */
	{"gcp-billing-catalog", "us-central1", "a3-highgpu-8g", 8000, "", OD, 0, "H100 SXM5 80GB",
	 101112718, UNK, "US", 0},
	{"gcp-billing-catalog", "us-central1", "a4-highgpu-8g", 8000, "", SPOT, 0, "B200 SXM 180GB",
	 64480000, UNK, "US", 0},
	/* 0.3201 + 50 x 0.15 / 720 */
	{"vast", "Quebec, CA", "machine-11111-1x", 1000, "community", OD, 0, "RTX 4090 24GB",
	 330517, YES, "CA", 0},
	{"vast", "US", "machine-22222-8x", 8000, "community", OD, 0, "H100 SXM5 80GB", 17613889,
	 YES, "US", 0},
	{"vast", "", "machine-33333-1x", 1000, "unverified", OD, 0, "RTX 4090 48GB", 518587, YES,
	 "", 0},
	{"digitalocean", "nyc1", "gpu-mi300x8-1536gb", 8000, "", OD, 0, "MI300X 192GB", 15920000,
	 YES, "US", 0},
	{"tensordock", ILLINOIS, "h100-sxm5-80gb", 8000, "", OD, 0, "H100 SXM5 80GB", 18309000, UNK,
	 "US", 0},
	{"cudo", "br-saopaulo-1", "cascade-lake", 1000, "", OD, 0, "RTX 3080 10GB", 210100, YES,
	 "BR", 0},
	{"hotaisle", "", "1x-MI300X-13c", 1000, "", OD, 0, "MI300X 192GB", 1990000, YES, "", 12},
	{"jarvislabs", "india-noida-01", "A100-80GB", 4000, "vm", OD, 0, "A100 SXM4 80GB", 5960000,
	 NO, "IN", 0},
	{"seeweb", "it-fr2", "ECS2GPU3", 2000, "", OD, 0, "A100 PCIe 80GB", 2257200, UNK, "IT", 0},
	{"shadeform", "MON1", "H100_PCIE_80GB_x8", 8000, "oblivus", OD, 0, "H100 PCIe 80GB",
	 32800000, YES, "CA", 0},
	{"primeintellect", "CA-MTL-3", "NVIDIA H100 PCIe", 1000, "runpod/secure_cloud", OD, 0,
	 "H100 PCIe 80GB", 2406800, YES, "CA", 0},
};

/* --- what a key becomes --- */

static const struct {
	const char *provider, *header;
} headers[] = {
	{"vast", "Authorization: Bearer team:secret-key"},
	{"digitalocean", "Authorization: Bearer team:secret-key"},
	{"hyperstack", "api_key: team:secret-key"},
	{"tensordock", "Authorization: Bearer team:secret-key"},
	{"cudo", "Authorization: Bearer team:secret-key"},
	{"hotaisle", "Authorization: Token secret-key"},
	{"jarvislabs", "Authorization: Bearer team:secret-key"},
	{"seeweb", "X-APITOKEN: team:secret-key"},
	{"shadeform", "X-API-KEY: team:secret-key"},
	{"primeintellect", "Authorization: Bearer team:secret-key"},
};

START_TEST(the_key_stands_in_one_header_and_nowhere_else)
{
	const struct provider *provider = provider_find(headers[_i].provider);
	struct fetch_request request = {0};
	int found = 0;

	walk_begin(provider);
	ck_assert_ptr_nonnull(provider->key_variable);
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	for (int i = 0; i < request.headers_count; i++)
		found += strcmp(request.headers[i], headers[_i].header) == 0;
	ck_assert_int_eq(found, 1);
	ck_assert_ptr_null(strstr(request.url, "secret"));
	ck_assert(!request.body || !strstr(request.body, "secret"));
	walk_release();
}
END_TEST

START_TEST(a_key_that_would_break_a_header_is_refused)
{
	static const char *const keys[] = {NULL, "", "a b", "team:a\r\nHost: evil",
					   "team:\xc3\xa9"};
	const struct provider *provider = provider_find(headers[_i].provider);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct fetch_request request = {0};

		walk_begin(provider);
		walk_feed.key = keys[i];
		ck_assert(!provider->request(&walk_feed, &request, &walk_error));
		ck_assert_ptr_nonnull(strstr(walk_error.detail, provider->key_variable));
		ck_assert_ptr_null(strstr(walk_error.detail, "evil"));
		walk_release();
	}
}
END_TEST

START_TEST(a_search_that_is_full_is_reported)
{
	const struct provider *provider = provider_find("vast");
	struct fetch_request request = {0};
	static char text[3000 * 3 + 32] = "{\"offers\":[{}";

	for (int i = 1; i < 3000; i++)
		strcat(text + 3 * i, ",{}");
	strcat(text + 8990, "]}");
	walk_begin(provider);
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert_ptr_nonnull(strstr(request.body, "\"limit\":3000"));
	ck_assert(walk_answer(provider, &request, text, NULL));
	ck_assert_int_eq(walk_feed.rejected[REJECTED_SCHEMA], 3001);
	walk_release();
}
END_TEST

/* Machines first to last, a cent dearer each. */
static const char *machines(int first, int last)
{
	static char text[32768];
	size_t length = (size_t)snprintf(text, sizeof(text), "{\"offers\":[");

	for (int i = first; i <= last; i++)
		length += (size_t)snprintf(
			text + length, sizeof(text) - length,
			"{\"id\":%d,\"machine_id\":%d,\"gpu_name\":\"RTX 4090\",\"num_gpus\":1,"
			"\"gpu_ram\":24564,\"storage_cost\":0,\"dph_base\":%d.%02d,\"dph_total\":%"
			"d.%02d}%s",
			i, i, i / 100, i % 100, i / 100, i % 100, i < last ? "," : "]}");
	return text;
}

START_TEST(a_search_that_may_be_cut_goes_on_from_its_last_price)
{
	const struct provider *provider = provider_find("vast");
	struct fetch_request request = {0};

	walk_begin(provider);
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert_ptr_null(strstr(request.body, "dph_total\":"));
	/* A server that stops at 100 rows, whatever limit is asked for. */
	ck_assert(walk_answer(provider, &request, machines(1, 100), NULL));
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert_str_eq(request.label, "gpus-1-2");
	ck_assert_ptr_nonnull(strstr(request.body, "\"num_gpus\":{\"eq\":1}"));
	ck_assert_ptr_nonnull(strstr(request.body, "\"dph_total\":{\"gte\":0.999999}"));
	ck_assert(walk_answer(provider, &request, machines(100, 150), NULL));
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert_str_eq(request.label, "gpus-2");
	ck_assert_ptr_null(strstr(request.body, "dph_total\":"));
	ck_assert_uint_eq(walk_feed.count, 150);
	/* The same hundred for ever: asked once more, then left. */
	ck_assert(walk_answer(provider, &request, machines(201, 300), NULL));
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(walk_answer(provider, &request, machines(201, 300), NULL));
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert_str_eq(request.label, "gpus-3");
	ck_assert_uint_eq(walk_feed.count, 250);
	ck_assert_int_eq(walk_feed.rejected[REJECTED_SCHEMA], 0);
	walk_release();
}
END_TEST

START_TEST(what_a_sum_of_parts_holds_is_told)
{
	walk_committed(provider_find("tensordock"));
	const struct wanted wanted_here = {
		"tensordock", ILLINOIS, "geforcertx3090-pcie-24gb", 2000, "", OD, 0, "", 0, UNK,
		"",	      0};
	const struct offer *offer = walk_find(&wanted_here);

	ck_assert_ptr_nonnull(offer);
	ck_assert_str_eq(offer->price_basis, "GPUs, 12 vCPUs, 64 GB of RAM, 100 GB of disk");
	ck_assert(offer->vcpus > 11.9 && offer->vcpus < 12.1);
	walk_release();
}
END_TEST

int main(void)
{
	static const struct group group = {"feeds with a key", COUNTED(wanted),
					   COUNTED(totals),    COUNTED(broken),
					   COUNTED(borrowed),  COUNTED(borrowed_wanted)};
	TCase *extra = tcase_create("keys");

	tcase_add_loop_test(extra, the_key_stands_in_one_header_and_nowhere_else, 0,
			    sizeof(headers) / sizeof(headers[0]));
	tcase_add_loop_test(extra, a_key_that_would_break_a_header_is_refused, 0,
			    sizeof(headers) / sizeof(headers[0]));
	tcase_add_test(extra, a_search_that_is_full_is_reported);
	tcase_add_test(extra, a_search_that_may_be_cut_goes_on_from_its_last_price);
	tcase_add_test(extra, what_a_sum_of_parts_holds_is_told);
	return walk_run(&group, extra);
}
