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

/* ISO 3166 alpha-2 as of 2024, in order, two letters each. */
static const char assigned[] =
	"ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBTBVBWBY"
	"BZCACCCDCFCGCHCICKCLCMCNCOCRCUCVCWCXCYCZDEDJDKDMDODZECEEEGEHERESETFIFJFK"
	"FMFOFRGAGBGDGEGFGGGHGIGLGMGNGPGQGRGSGTGUGWGYHKHMHNHRHTHUIDIEILIMINIOIQIR"
	"ISITJEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDMEMFMGMHMK"
	"MLMMMNMOMPMQMRMSMTMUMVMWMXMYMZNANCNENFNGNINLNONPNRNUNZOMPAPEPFPGPHPKPLPM"
	"PNPRPSPTPWPYQARERORSRURWSASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTF"
	"TGTHTJTKTLTMTNTOTRTTTVTWTZUAUGUMUSUYUZVAVCVEVGVIVNVUWFWSYEYTZAZMZW";

static int order(const struct country *country, const char *provider, const char *region)
{
	int by_provider = strcmp(provider, country->provider);

	return by_provider ? by_provider : strcmp(region, country->region);
}

static bool is_capital(char letter)
{
	return letter >= 'A' && letter <= 'Z';
}

bool country_read(const char *text, char out[COUNTRY_TEXT])
{
	out[0] = '\0';
	if (strlen(text) != COUNTRY_TEXT - 1)
		return false;
	for (size_t i = 0; i < COUNTRY_TEXT; i++)
		out[i] = text[i] >= 'a' && text[i] <= 'z' ? (char)(text[i] - 'a' + 'A') : text[i];
	if (!is_capital(out[0]) || !is_capital(out[1]))
		out[0] = '\0';
	if (strcmp(out, "UK") == 0)
		memcpy(out, "GB", 2);
	return *out != '\0';
}

bool country_is_assigned(const char code[COUNTRY_TEXT])
{
	size_t low = 0, high = (sizeof(assigned) - 1) / 2;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int way = strncmp(code, assigned + 2 * middle, 2);

		if (way == 0)
			return true;
		if (way < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* The two capitals that `text` of that length ends with, alone or after a comma; or NULL. */
static const char *last_code(const char *text, size_t length)
{
	const char *code = text + length - 2;

	if (length < 2 || !is_capital(code[0]) || !is_capital(code[1]))
		return NULL;
	return length == 2 || (length >= 4 && memcmp(code - 2, ", ", 2) == 0) ? code : NULL;
}

static bool is_continent(const char *code)
{
	static const char codes[][3] = {"AF", "AN", "AS", "EU", "NA", "OC", "SA"};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (memcmp(codes[i], code, 2) == 0)
			return true;
	return false;
}

/* Vast's regions are "US" or "Quebec, CA": the code is what follows the last comma. Lists of before
 * have the continent after it, "Alberta, CA, NA", whose code is a country's elsewhere. */
static bool read_vast(const char *region, char out[COUNTRY_TEXT])
{
	const size_t length = strlen(region);
	const char *code = last_code(region, length), *before = NULL;
	char text[COUNTRY_TEXT] = "";

	out[0] = '\0';
	if (!code)
		return false;
	if (length > 4 && is_continent(code))
		before = last_code(region, length - 4);
	memcpy(text, before ? before : code, 2);
	return country_read(text, out);
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
