/* The feeds of this program. Adding one is its file, its two lines here, and its fixture. */
#include "server/ingest/provider.h"

#include <string.h>

extern const struct provider runpod, vultr, linode, azure, lambda;
extern const struct provider aws_spot, cloudrift, cudo, digitalocean, gcp, hotaisle, hyperstack,
	jarvislabs, oci, ovhcloud, primeintellect, scaleway, seeweb, shadeform, tensordock, thunder,
	vast, verda;

const struct provider *const providers[] = {
	&runpod,   &vultr,	&linode,       &azure,	    &lambda,	     &aws_spot,
	&gcp,	   &cloudrift,	&oci,	       &ovhcloud,   &scaleway,	     &thunder,
	&verda,	   &vast,	&digitalocean, &hyperstack, &tensordock,     &cudo,
	&hotaisle, &jarvislabs, &seeweb,       &shadeform,  &primeintellect,
};

const size_t providers_count = sizeof(providers) / sizeof(providers[0]);

const struct provider *provider_find(const char *id)
{
	for (size_t i = 0; i < providers_count; i++)
		if (strcmp(providers[i]->id, id) == 0)
			return providers[i];
	return NULL;
}
