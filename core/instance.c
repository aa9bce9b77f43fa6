/* Instance types: see instance.h. The table is sorted by provider and type. */
#include "core/instance.h"

#include "core/names.h"

const struct instance instances[] = {
#include "core/data/instances.inc"
};
const size_t instances_count = sizeof(instances) / sizeof(instances[0]);

const struct instance *instance_find(const char *provider, const char *type)
{
	size_t low = 0, high = instances_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = names_compare(provider, instances[middle].provider);

		if (order == 0)
			order = names_compare(type, instances[middle].type);
		if (order == 0)
			return &instances[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}
