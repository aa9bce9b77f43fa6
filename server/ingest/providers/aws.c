/* What the feeds of AWS share: see aws.h. */
#include "server/ingest/providers/aws.h"

#include "core/instance.h"

#include <ctype.h>
#include <string.h>

bool aws_is_accelerated(const char *type)
{
	static const char *const families[] = {"p", "g", "gr", "inf", "trn", "dl"};

	if (instance_find("aws", type))
		return true;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		size_t length = strlen(families[i]);

		if (strncmp(type, families[i], length) == 0 && isdigit((unsigned char)type[length]))
			return true;
	}
	return false;
}

/* Metropolitan codes of local zones, from AWS's page of their locations. */
static const struct {
	const char *metro, *country;
} metros[] = {
	{"atl", "US"}, {"bos", "US"}, {"chi", "US"}, {"dfw", "US"}, {"den", "US"}, {"hnl", "US"},
	{"iah", "US"}, {"las", "US"}, {"lax", "US"}, {"mci", "US"}, {"mia", "US"}, {"msp", "US"},
	{"nyc", "US"}, {"pdx", "US"}, {"phl", "US"}, {"phx", "US"}, {"sea", "US"}, {"akl", "NZ"},
	{"bkk", "TH"}, {"bue", "AR"}, {"ccu", "IN"}, {"cph", "DK"}, {"del", "IN"}, {"ham", "DE"},
	{"hel", "FI"}, {"lim", "PE"}, {"los", "NG"}, {"mct", "OM"}, {"mnl", "PH"}, {"per", "AU"},
	{"qro", "MX"}, {"scl", "CL"}, {"tpe", "TW"}, {"waw", "PL"},
};

const char *aws_zone_country(const char *region)
{
	const char *metro = region;

	for (int dashes = 0; dashes < 3; dashes++) {
		metro = strchr(metro, '-');
		if (!metro++)
			return "";
	}
	for (size_t i = 0; i < sizeof(metros) / sizeof(metros[0]); i++)
		if (strncmp(metro, metros[i].metro, 3) == 0 && metro[3] == '-')
			return metros[i].country;
	return "";
}

void aws_describe(struct feed *feed, const char *type, struct offer *offer)
{
	const struct instance *known = instance_find("aws", type);

	offer->instance_type = feed_text(feed, type);
	offer->accelerator = known ? known->accelerator : offer->instance_type;
	if (!known)
		return;
	offer->count_milli = (int32_t)(known->count * COUNT_MILLI_ONE + 0.5);
	offer->vcpus = known->vcpus;
	offer->ram_gib = known->memory_gib;
	offer->disk_gb = known->local_nvme_gb;
}
