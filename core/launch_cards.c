/*
 * Launch: what SkyPilot and dstack call a card. A name that means several cards (dstack's H100 is
 * the SXM and the PCIe one) is used only where the machine's type tells them apart.
 *
 * SkyPilot: AcceleratorName of catalogs/v8/{gcp,runpod}/vms.csv of skypilot-catalog, read on
 * 2026-08-20. dstack: KNOWN_NVIDIA_GPUS of gpuhunt at 35841515.
 */
#include "core/launch_parts.h"

#include <string.h>

struct card_name {
	const char *accelerator, *name;
};

static const struct card_name gcp_cards[] = {
	{"A100 SXM4 40GB", "A100"}, {"A100 SXM4 80GB", "A100-80GB"},
	{"H100 SXM5 80GB", "H100"}, {"H200 SXM 141GB", "H200"},
	{"L4 24GB", "L4"},
};

static const struct card_name runpod_cards[] = {
	{"A100 PCIe 80GB", "A100-80GB"},
	{"A100 SXM4 80GB", "A100-80GB-SXM"},
	{"A40 48GB", "A40"},
	{"B200 SXM 180GB", "B200"},
	{"H100 NVL 94GB", "H100-NVL"},
	{"H100 PCIe 80GB", "H100"},
	{"H100 SXM5 80GB", "H100-SXM"},
	{"H200 SXM 141GB", "H200-SXM"},
	{"L4 24GB", "L4"},
	{"L40 48GB", "L40"},
	{"L40S 48GB", "L40S"},
	{"RTX 3090 24GB", "RTX3090"},
	{"RTX 4000 Ada 20GB", "RTX4000-Ada"},
	{"RTX 4090 24GB", "RTX4090"},
	{"RTX 6000 Ada 48GB", "RTX6000-Ada"},
	{"RTX A4000 16GB", "RTXA4000"},
	{"RTX A4500 20GB", "RTXA4500"},
	{"RTX A5000 24GB", "RTXA5000"},
	{"RTX A6000 48GB", "RTXA6000"},
};

/* The size is part of the name where one name has two. */
static const struct card_name dstack_cards[] = {
	{"A10 24GB", "A10"},
	{"A10G 24GB", "A10G"},
	{"A40 48GB", "A40"},
	{"B200 SXM 180GB", "B200"},
	{"B300 SXM 288GB", "B300"},
	{"H100 NVL 94GB", "H100NVL"},
	{"H200 NVL 141GB", "H200NVL"},
	{"H200 SXM 141GB", "H200"},
	{"L4 24GB", "L4"},
	{"L40 48GB", "L40"},
	{"L40S 48GB", "L40S"},
	{"RTX 3090 24GB", "RTX3090"},
	{"RTX 4090 24GB", "RTX4090"},
	{"RTX 5090 32GB", "RTX5090"},
	{"RTX 6000 Ada 48GB", "RTX6000Ada"},
	{"RTX A4000 16GB", "A4000"},
	{"RTX A4500 20GB", "A4500"},
	{"RTX A5000 24GB", "A5000"},
	{"RTX A6000 48GB", "A6000"},
	{"T4 16GB", "T4"},
};

#define FIND(cards, accelerator) find(cards, sizeof(cards) / sizeof((cards)[0]), accelerator)

static const char *find(const struct card_name *cards, size_t count, const char *accelerator)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(cards[i].accelerator, accelerator) == 0)
			return cards[i].name;
	return NULL;
}

const char *launch_skypilot_card(const char *provider, const struct offer *offer)
{
	if (strcmp(provider, "gcp") == 0)
		/* The same card with another network is another name. */
		return strncmp(offer->instance_type, "a3-megagpu-", 11) == 0
			       ? "H100-MEGA"
			       : FIND(gcp_cards, offer->accelerator);
	if (strcmp(provider, "runpod") == 0)
		return FIND(runpod_cards, offer->accelerator);
	return NULL;
}

const char *launch_dstack_card(const struct offer *offer)
{
	return FIND(dstack_cards, offer->accelerator);
}
