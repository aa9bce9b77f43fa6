/* Accelerators: facts and look-ups; see accelerator.h. Both tables are sorted, so that a look-up is
 * a binary search; tests/core/test_accelerator.c holds the order. */
#include "core/accelerator.h"

#include "core/names.h"
#include "core/units.h"

#include <string.h>

const struct accelerator accelerators[] = {
#include "core/data/accelerators.inc"
};
const size_t accelerators_count = sizeof(accelerators) / sizeof(accelerators[0]);

const struct accelerator_name accelerator_names[] = {
#include "core/data/accelerator_names.inc"
};
const size_t accelerator_names_count = sizeof(accelerator_names) / sizeof(accelerator_names[0]);

const struct accelerator_name accelerator_variants[] = {
#include "core/data/accelerator_variants.inc"
};
const size_t accelerator_variants_count =
	sizeof(accelerator_variants) / sizeof(accelerator_variants[0]);

/* How far a feed's memory may be from a card's: feeds round, and mix GB with GiB. */
#define MEMORY_TOLERANCE 0.07

#define WORD 32 /* longest word of a spelling that is told apart, and its terminator */

const struct accelerator *accelerator_find(const char *name)
{
	size_t low = 0, high = accelerators_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = names_compare(name, accelerators[middle].name);

		if (order == 0)
			return &accelerators[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static int name_order(const struct accelerator_name *entry, const char *provider,
		      const char *spelling)
{
	int order = names_compare(provider, entry->provider);

	return order ? order : names_compare(spelling, entry->spelling);
}

/* The first row of that provider and spelling, or `count`. */
static size_t first_name(const struct accelerator_name *table, size_t count, const char *provider,
			 const char *spelling)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (name_order(&table[middle], provider, spelling) <= 0)
			high = middle;
		else
			low = middle + 1;
	}
	if (low < count && name_order(&table[low], provider, spelling) == 0)
		return low;
	return count;
}

static const struct accelerator *named(const char *provider, const char *spelling)
{
	size_t i = first_name(accelerator_names, accelerator_names_count, provider, spelling);

	if (i == accelerator_names_count)
		return NULL;
	return accelerator_find(accelerator_names[i].canonical);
}

/* A provider that gives a spelling several meanings must not be answered by what others mean. */
static bool has_variants(const char *provider, const char *spelling)
{
	return first_name(accelerator_variants, accelerator_variants_count, provider, spelling) <
	       accelerator_variants_count;
}

const struct accelerator *accelerator_resolve(const char *provider, const char *spelling)
{
	const struct accelerator *found;

	if (provider && *provider) {
		found = named(provider, spelling);
		if (found)
			return found;
		if (has_variants(provider, spelling))
			return NULL;
	}
	found = accelerator_find(spelling);
	return found ? found : named("", spelling);
}

bool accelerator_memory_agrees(const struct accelerator *accelerator, double memory_gb)
{
	double bytes = accelerator_memory_bytes(accelerator);
	double meanings[] = {accelerator->memory_gb, bytes / GB, bytes / GIB};

	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (memory_gb >= meanings[i] * (1 - MEMORY_TOLERANCE) &&
		    memory_gb <= meanings[i] * (1 + MEMORY_TOLERANCE))
			return true;
	return false;
}

/* The one card of a spelling's meanings whose memory agrees; NULL when none or several do. */
static const struct accelerator *variant(const char *provider, const char *spelling,
					 double memory_gb)
{
	const struct accelerator *found = NULL;
	size_t i = first_name(accelerator_variants, accelerator_variants_count, provider, spelling);

	for (; i < accelerator_variants_count &&
	       name_order(&accelerator_variants[i], provider, spelling) == 0;
	     i++) {
		const struct accelerator *candidate =
			accelerator_find(accelerator_variants[i].canonical);

		if (!candidate || !accelerator_memory_agrees(candidate, memory_gb))
			continue;
		if (found)
			return NULL;
		found = candidate;
	}
	return found;
}

const struct accelerator *accelerator_resolve_memory(const char *provider, const char *spelling,
						     double memory_gb_each)
{
	const struct accelerator *found;

	if (!(memory_gb_each > 0))
		return accelerator_resolve(provider, spelling);
	found = accelerator_resolve(provider, spelling);
	if (found)
		return accelerator_memory_agrees(found, memory_gb_each) ? found : NULL;
	if (provider && *provider && has_variants(provider, spelling))
		return variant(provider, spelling, memory_gb_each);
	return variant("", spelling, memory_gb_each);
}

static bool is_word_letter(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The next word of *text, lower or upper case as it stands; empty at the end. */
static void next_word(const char **text, char out[WORD])
{
	size_t length = 0;

	while (**text && !is_word_letter(**text))
		(*text)++;
	for (; is_word_letter(**text); (*text)++)
		if (length < WORD - 1)
			out[length++] = **text;
	out[length] = '\0';
}

static bool has_word(const char *name, const char *wanted)
{
	char word[WORD];

	for (next_word(&name, word); *word; next_word(&name, word))
		if (names_compare(word, wanted) == 0)
			return true;
	return false;
}

/* Are all words of `spelling` words of `name`, makers' names aside? */
static bool has_all_words(const char *name, const char *spelling)
{
	char word[WORD];
	size_t found = 0;

	for (next_word(&spelling, word); *word; next_word(&spelling, word)) {
		if (has_word("NVIDIA AMD Intel Google AWS GeForce Tesla Instinct", word))
			continue;
		if (!has_word(name, word))
			return false;
		found++;
	}
	return found > 0;
}

static bool begins_with_words(const char *name, const char *words)
{
	char start[WORD * 4];
	size_t length = strlen(words);

	if (!length || length >= sizeof(start) || strlen(name) <= length || name[length] != ' ')
		return false;
	memcpy(start, name, length);
	start[length] = '\0';
	return names_compare(start, words) == 0;
}

size_t accelerator_family(const char *name, const struct accelerator **out, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < accelerators_count; i++) {
		if (!begins_with_words(accelerators[i].name, name))
			continue;
		if (count < max)
			out[count] = &accelerators[i];
		count++;
	}
	return count;
}

static bool is_stronger(const struct accelerator *a, const struct accelerator *b)
{
	if (a->bf16_tflops > b->bf16_tflops || b->bf16_tflops > a->bf16_tflops)
		return a->bf16_tflops > b->bf16_tflops;
	return a->memory_gb * a->bandwidth_gb_s > b->memory_gb * b->bandwidth_gb_s;
}

const char *accelerator_nearest(const char *spelling)
{
	const struct accelerator *strongest = NULL;
	const char *nearest = NULL;
	unsigned best = (unsigned)strnlen(spelling, 127) / 3 + 1;

	for (size_t i = 0; i < accelerators_count; i++) {
		const struct accelerator *candidate = &accelerators[i];

		if (has_all_words(candidate->name, spelling) &&
		    (!strongest || is_stronger(candidate, strongest)))
			strongest = candidate;
	}
	if (strongest)
		return strongest->name;
	for (size_t i = 0; i < accelerators_count; i++) {
		unsigned distance = names_distance(accelerators[i].name, spelling, best);

		if (distance < best) {
			best = distance;
			nearest = accelerators[i].name;
		}
	}
	for (size_t i = 0; i < accelerator_names_count && !accelerator_names[i].provider[0]; i++) {
		unsigned distance = names_distance(accelerator_names[i].spelling, spelling, best);

		if (distance < best) {
			best = distance;
			nearest = accelerator_names[i].canonical;
		}
	}
	return nearest;
}

double accelerator_memory_bytes(const struct accelerator *accelerator)
{
	return accelerator->memory_usable_mib * MIB;
}
