/* Country: see country.h. The table is sorted by provider and region, so that a look-up is a binary
 * search; tests/core/test_country.c holds the order. */
#include "core/country.h"

#include <stddef.h>
#include <string.h>

static const struct country {
	const char *provider, *region, *code;
} countries[] = {
#include "core/data/countries.inc"
};

static int order(const struct country *country, const char *provider, const char *region)
{
	int by_provider = strcmp(provider, country->provider);

	return by_provider ? by_provider : strcmp(region, country->region);
}

bool country_read(const char *text, char out[COUNTRY_TEXT])
{
	out[0] = '\0';
	if (strlen(text) != COUNTRY_TEXT - 1)
		return false;
	for (size_t i = 0; i < COUNTRY_TEXT; i++)
		out[i] = text[i] >= 'a' && text[i] <= 'z' ? (char)(text[i] - 'a' + 'A') : text[i];
	if (out[0] < 'A' || out[0] > 'Z' || out[1] < 'A' || out[1] > 'Z')
		out[0] = '\0';
	return *out != '\0';
}

/* Vast's regions are "US" or "Quebec, CA": the code is what follows the last comma. */
static bool read_vast(const char *region, char out[COUNTRY_TEXT])
{
	size_t length = strlen(region);
	const char *code = length > 2 ? region + length - 2 : region;

	out[0] = '\0';
	if (length < 2 || (length > 2 && (length < 4 || memcmp(code - 2, ", ", 2) != 0)))
		return false;
	return code[0] >= 'A' && code[0] <= 'Z' && code[1] >= 'A' && code[1] <= 'Z' &&
	       country_read(code, out);
}

bool country_of_region(const char *provider, const char *region, char out[COUNTRY_TEXT])
{
	size_t low = 0, high = sizeof(countries) / sizeof(countries[0]);

	if (strcmp(provider, "vast") == 0)
		return read_vast(region, out);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int way = order(&countries[middle], provider, region);

		if (way == 0)
			return country_read(countries[middle].code, out);
		if (way < 0)
			high = middle;
		else
			low = middle + 1;
	}
	out[0] = '\0';
	return false;
}
