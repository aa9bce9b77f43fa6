/*
 * Catalogue changes: what became of every offer since `changes_from`, newest change only, in order
 * of version and id: see catalogue.h. Deltas walk it forwards, versions of a filter backwards.
 *
 * A radix sort of packed numbers: after a start, a million offers may have changed.
 */
#include "core/catalogue_parts.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1U << DIGIT_BITS)

static int compare_ids(const void *left, const void *right)
{
	const struct offer *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static int compare_states(const void *left, const void *right)
{
	const struct offer_state *a = left, *b = right;

	if (a->offer.id != b->offer.id)
		return a->offer.id < b->offer.id ? -1 : 1;
	return (a->until > b->until) - (a->until < b->until);
}

static bool copy_gone(struct catalogue_build *build, const struct catalogue_input *input)
{
	struct catalogue *catalogue = build->catalogue;
	struct offer *gone = arena_array(&catalogue->arena, input->gone_count, sizeof(*gone));
	struct offer none = {0};
	const struct offer *previous = &none;

	if (!gone || input->gone_count > UINT32_MAX / 2)
		return false;
	for (size_t i = 0; i < input->gone_count; i++) {
		if (input->gone[i].version <= input->changes_from)
			continue;
		gone[catalogue->gone_count] = input->gone[i];
		if (!catalogue_intern(build, &gone[catalogue->gone_count], previous))
			return false;
		previous = &gone[catalogue->gone_count++];
	}
	qsort(gone, catalogue->gone_count, sizeof(*gone), compare_ids);
	catalogue->gone = gone;
	return true;
}

static bool copy_states(struct catalogue_build *build, const struct catalogue_input *input)
{
	struct catalogue *catalogue = build->catalogue;
	struct offer_state *states =
		arena_array(&catalogue->arena, input->states_count, sizeof(*states));
	struct offer none = {0};
	const struct offer *previous = &none;

	if (!states || input->states_count > UINT32_MAX)
		return false;
	for (size_t i = 0; i < input->states_count; i++) {
		states[i] = input->states[i];
		if (!catalogue_intern(build, &states[i].offer, previous))
			return false;
		previous = &states[i].offer;
	}
	qsort(states, input->states_count, sizeof(*states), compare_states);
	catalogue->states = states;
	catalogue->states_count = (uint32_t)input->states_count;
	return true;
}

bool catalogue_keep_changes(struct catalogue_build *build, const struct catalogue_input *input)
{
	struct catalogue *catalogue = build->catalogue;

	catalogue->changes_from = input->changes_from;
	if (catalogue->version - catalogue->changes_from > UINT32_MAX)
		catalogue->changes_from = catalogue->version - UINT32_MAX;
	return copy_gone(build, input) && copy_states(build, input);
}

/* Three sequences, each by id: on sale and open to all, on sale and private, gone. */
struct merge {
	const struct catalogue *whole;
	uint32_t at[3], end[3];
};

/* The place of the next offer by id; false at the end. */
static bool merge_next(struct merge *merge, uint32_t *place)
{
	uint64_t least = 0;
	int from = -1;

	for (int i = 0; i < 3; i++) {
		uint64_t id;

		if (merge->at[i] == merge->end[i])
			continue;
		id = catalogue_changed_id(merge->whole, merge->at[i]);
		if (from < 0 || id < least) {
			least = id;
			from = i;
		}
	}
	if (from >= 0)
		*place = merge->at[from]++;
	return from >= 0;
}

static int64_t version_at(const struct catalogue *whole, uint32_t place, bool is_public)
{
	const struct offer *gone;

	if (place < whole->on_sale_count)
		return is_public ? whole->rows[place].public_version : whole->rows[place].version;
	gone = &whole->gone[place - whole->on_sale_count];
	return is_public ? gone->public_version : gone->version;
}

/* By the upper half, stable; ends in `entries`. */
static void sort(uint64_t *entries, uint64_t *spare, size_t count)
{
	uint64_t *from = entries, *to = spare;

	for (unsigned shift = 32; shift < 64; shift += DIGIT_BITS) {
		size_t starts[DIGITS + 1] = {0};

		for (size_t i = 0; i < count; i++)
			starts[(from[i] >> shift & (DIGITS - 1)) + 1]++;
		for (unsigned i = 0; i < DIGITS; i++)
			starts[i + 1] += starts[i];
		for (size_t i = 0; i < count; i++)
			to[starts[from[i] >> shift & (DIGITS - 1)]++] = from[i];
		uint64_t *swapped = from;
		from = to;
		to = swapped;
	}
	if (from != entries && count)
		memcpy(entries, from, count * sizeof(*entries));
}

static int compare_pointers(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return (*a > *b) - (*a < *b);
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Strings of a catalogue are pooled: equal text is one pointer. */
static bool collect_spellings(struct catalogue_build *build, const struct catalogue *whole)
{
	struct catalogue *catalogue = build->catalogue;
	size_t most = (size_t)catalogue->unlisted_count + whole->gone_count, count = 0, kept = 0;
	const char **texts = arena_array(&build->scratch, most, sizeof(*texts)), **out;

	for (uint32_t i = 0; i < catalogue->unlisted_count && texts; i++) {
		const struct offer *offer = &build->offers[catalogue->unlisted[i]];

		if (!offer->is_mapped)
			texts[count++] = offer->accelerator;
	}
	for (uint32_t i = 0; i < whole->gone_count && texts; i++) {
		const struct offer *offer = &whole->gone[i];

		if (!offer->is_mapped && (catalogue == whole || offer->public_version > 0))
			texts[count++] = offer->accelerator;
	}
	if (count)
		qsort(texts, count, sizeof(*texts), compare_pointers);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || texts[i] != texts[i - 1])
			texts[kept++] = texts[i];
	out = texts ? arena_array(&catalogue->arena, kept, sizeof(*out)) : NULL;
	if (!out)
		return false;
	if (kept) {
		memcpy(out, texts, kept * sizeof(*out));
		qsort(out, kept, sizeof(*out), compare_texts);
	}
	catalogue->spellings = out;
	catalogue->spellings_count = (uint32_t)kept;
	return true;
}

bool catalogue_has_spelling(const struct catalogue *catalogue, const char *spelling)
{
	return catalogue->spellings_count &&
	       bsearch(&spelling, catalogue->spellings, catalogue->spellings_count,
		       sizeof(*catalogue->spellings), compare_texts);
}

bool catalogue_order_changes(struct catalogue_build *build, const struct catalogue *whole)
{
	struct catalogue *catalogue = build->catalogue;
	uint32_t on_sale = whole->offers_count, all = on_sale + whole->gone_count, place;
	struct merge merge = {.whole = whole,
			      .at = {0, whole->public_count, on_sale},
			      .end = {whole->public_count, on_sale, all}};
	uint64_t *entries = arena_array(&build->scratch, all, sizeof(*entries));
	uint64_t *spare = arena_array(&build->scratch, all, sizeof(*spare));
	struct offer_change *changes;
	uint32_t count = 0;

	if (!entries || !spare || !collect_spellings(build, whole))
		return false;
	while (merge_next(&merge, &place)) {
		int64_t version = version_at(whole, place, catalogue != whole);

		if (version > catalogue->changes_from && version <= catalogue->version)
			entries[count++] =
				(uint64_t)(version - catalogue->changes_from) << 32 | place;
	}
	sort(entries, spare, count);
	changes = arena_array(&catalogue->arena, count, sizeof(*changes));
	for (uint32_t i = 0; i < count && changes; i++)
		changes[i] =
			(struct offer_change){(uint32_t)(entries[i] >> 32), (uint32_t)entries[i]};
	catalogue->changes = changes;
	catalogue->changes_count = count;
	return changes;
}

void catalogue_read_changed(const struct catalogue *catalogue, uint32_t place, struct offer *out)
{
	if (place < catalogue->on_sale_count)
		catalogue_read(catalogue, place, out);
	else
		*out = catalogue->gone[place - catalogue->on_sale_count];
}

uint64_t catalogue_changed_id(const struct catalogue *catalogue, uint32_t place)
{
	return place < catalogue->on_sale_count
		       ? catalogue->rows[place].id
		       : catalogue->gone[place - catalogue->on_sale_count].id;
}
