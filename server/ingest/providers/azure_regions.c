/* Azure's regions and their countries: the price list has no field for them. */
#include "server/ingest/providers/azure.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *country, *regions; /* separated by single blanks */
} countries[] = {
	{"AE", "uaecentral uaenorth"},
	{"AT", "austriaeast"},
	{"AU", "australiacentral australiacentral2 australiaeast australiasoutheast"},
	{"BE", "belgiumcentral"},
	{"BR", "brazilsouth brazilsoutheast"},
	{"CA", "canadacentral canadaeast"},
	{"CH", "switzerlandnorth switzerlandwest"},
	{"CL", "chilecentral"},
	{"DE", "germanynorth germanywestcentral"},
	{"DK", "denmarkeast"},
	{"ES", "spaincentral"},
	{"FR", "francecentral francesouth"},
	{"GB", "uksouth ukwest"},
	{"HK", "eastasia"},
	{"ID", "indonesiacentral"},
	{"IE", "northeurope"},
	{"IL", "israelcentral"},
	{"IN", "centralindia jioindiacentral jioindiawest southindia westindia"},
	{"IT", "italynorth"},
	{"JP", "japaneast japanwest"},
	{"KR", "koreacentral koreasouth"},
	{"MX", "mexicocentral"},
	{"MY", "malaysiawest"},
	{"NL", "westeurope"},
	{"NO", "norwayeast norwaywest"},
	{"NZ", "newzealandnorth"},
	{"PL", "polandcentral"},
	{"QA", "qatarcentral"},
	{"SE", "swedencentral swedensouth"},
	{"SG", "southeastasia"},
	{"TW", "taiwannorth taiwannorthwest"},
	{"US", "centralus eastus eastus2 northcentralus southcentralus westcentralus westus westus2"
	       " westus3 usgovarizona usgovtexas usgovvirginia"},
	{"ZA", "southafricanorth southafricawest"},
};

const char *azure_country(const char *region)
{
	size_t length = strlen(region);

	for (size_t i = 0; length && i < sizeof(countries) / sizeof(countries[0]); i++)
		for (const char *at = countries[i].regions; *at;) {
			size_t name = strcspn(at, " ");

			if (name == length && strncmp(at, region, length) == 0)
				return countries[i].country;
			at += name + (at[name] == ' ');
		}
	return "";
}
