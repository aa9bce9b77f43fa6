/* The feeds of this program. Adding one is its file, its two lines here, and its fixture. */
#include "server/ingest/provider.h"

#include <string.h>

extern const struct provider runpod, vultr, linode, azure, lambda;
extern const struct provider aws_history, aws_list, aws_spot, cloudrift, cudo, digitalocean, gcp,
	gcp_billing, hotaisle, hyperstack, jarvislabs, oci, ovhcloud, primeintellect, scaleway,
	seeweb, shadeform, tensordock, thunder, vast, verda, verda_account, runpod_rest, nebius;

const struct provider *const providers[] = {
	&runpod,      &vultr,	    &linode,	    &azure,	  &lambda,	   &aws_spot,
	&gcp,	      &cloudrift,   &oci,	    &ovhcloud,	  &scaleway,	   &thunder,
	&verda,	      &vast,	    &digitalocean,  &hyperstack,  &tensordock,	   &cudo,
	&hotaisle,    &jarvislabs,  &seeweb,	    &shadeform,	  &primeintellect, &aws_list,
	&aws_history, &gcp_billing, &verda_account, &runpod_rest, &nebius,
};

const size_t providers_count = sizeof(providers) / sizeof(providers[0]);

bool provider_is_called(const struct provider *provider, const char *name, size_t length)
{
	return (strlen(provider->id) == length && strncmp(provider->id, name, length) == 0) ||
	       (strlen(provider->source) == length && strncmp(provider->source, name, length) == 0);
}

const struct provider *provider_find(const char *name)
{
	for (size_t i = 0; i < providers_count; i++)
		if (strcmp(providers[i]->id, name) == 0)
			return providers[i];
	for (size_t i = 0; i < providers_count; i++)
		if (strcmp(providers[i]->source, name) == 0)
			return providers[i];
	return NULL;
}
