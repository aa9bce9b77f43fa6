/*
 * Scanning: which offers of a list pass the filters that look at single offers.
 *
 * Sixty-four offers are judged at a time, each filter for itself and without a branch on what it
 * reads: one that half of the market passes costs no more than one that nothing does. What a list
 * as a whole tells of age and availability is not read again of its offers.
 */
#include "core/recommend_parts.h"

#include <string.h>

#define BLOCK 64

/* Of a block: the offers that fail each of the filters, the first in the lowest bit. */
struct verdicts {
	uint64_t failed[TAG_REASONS];
};

static const enum exclusion_reason tag_reasons[TAG_REASONS] = {
	EXCLUSION_FILTERED_REGION, EXCLUSION_FILTERED_COUNTRY, EXCLUSION_FILTERED_AVAILABILITY,
	EXCLUSION_STALE};

enum exclusion_reason search_missed_reason(int place)
{
	return place < TAG_REASONS ? tag_reasons[place] : EXCLUSION_SOLD_OUT;
}

/* Without a call of the compiler's library. */
static uint32_t count_bits(uint64_t bits)
{
	bits -= bits >> 1 & UINT64_C(0x5555555555555555);
	bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
	bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

static uint64_t all_of(uint32_t count)
{
	return count < BLOCK ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

static uint64_t outside_regions(const struct sieve *sieve, const uint32_t *regions, uint32_t count)
{
	uint64_t failed = 0;

	for (uint32_t i = 0; i < count; i++)
		failed |= (uint64_t)!sieve->regions[regions[i]] << i;
	return failed;
}

static uint64_t outside_countries(const struct sieve *sieve, const uint16_t *countries,
				  uint32_t count)
{
	uint64_t failed = 0;

	for (uint32_t i = 0; i < count; i++)
		failed |= (~sieve->countries[countries[i] / 64] >> countries[i] % 64 & 1) << i;
	return failed;
}

static uint64_t unavailable(const struct offer_list *list, const uint8_t *availabilities,
			    uint32_t count)
{
	uint64_t failed = 0;

	if (!list->available)
		return all_of(count);
	for (uint32_t i = 0; i < count; i++)
		failed |= (uint64_t)(availabilities[i] != AVAILABILITY_YES) << i;
	return failed;
}

static uint64_t stale(const struct sieve *sieve, const struct offer_list *list,
		      const int64_t *observed_at_us, uint32_t count)
{
	uint64_t failed = 0;

	if (list->oldest_us >= sieve->oldest_us)
		return 0;
	if (list->newest_us < sieve->oldest_us)
		return all_of(count);
	for (uint32_t i = 0; i < count; i++)
		failed |= (uint64_t)(observed_at_us[i] < sieve->oldest_us) << i;
	return failed;
}

/* `count` offers of the list, at most a block; what fails any. */
static uint64_t judge(const struct search *search, const struct offer_list *list, uint32_t at,
		      uint32_t count, struct verdicts *out)
{
	const struct offer_columns *columns = &search->catalogue->columns;
	const struct sieve *sieve = &search->sieve;

	*out = (struct verdicts){{0}};
	if (sieve->regions)
		out->failed[0] = outside_regions(sieve, columns->region + at, count);
	if (sieve->countries)
		out->failed[1] = outside_countries(sieve, columns->country + at, count);
	if (sieve->available_only)
		out->failed[2] = unavailable(list, columns->availability + at, count);
	if (sieve->has_oldest)
		out->failed[3] = stale(sieve, list, columns->observed_at_us + at, count);
	return out->failed[0] | out->failed[1] | out->failed[2] | out->failed[3];
}

static bool prepare_regions(struct search *search)
{
	const struct filters *filters = &search->request->filters;
	const struct catalogue *catalogue = search->catalogue;
	bool *asked;

	if (!filters->regions_count)
		return true;
	asked = arena_array(&search->scratch, catalogue->regions_count, sizeof(*asked));
	for (size_t i = 0; asked && i < filters->regions_count; i++) {
		uint32_t number = catalogue_region(catalogue, filters->regions[i]);

		if (number != CATALOGUE_NOWHERE)
			asked[number] = true;
	}
	search->sieve.regions = asked;
	return asked;
}

static bool prepare_countries(struct search *search)
{
	const struct filters *filters = &search->request->filters;
	uint64_t *asked;

	if (!filters->countries_count)
		return true;
	asked = arena_array(&search->scratch, (UINT16_MAX + 1) / 64, sizeof(*asked));
	for (size_t i = 0; asked && i < filters->countries_count; i++) {
		uint16_t country = catalogue_country_tag(filters->countries[i]);

		asked[country / 64] |= UINT64_C(1) << country % 64;
	}
	search->sieve.countries = asked;
	return asked;
}

bool search_prepare_sieve(struct search *search)
{
	const struct filters *filters = &search->request->filters;
	struct sieve *sieve = &search->sieve;

	sieve->available_only = filters->available_only;
	sieve->has_oldest = filters->max_age_seconds > 0;
	sieve->oldest_us = search->now_us - filters->max_age_seconds * INT64_C(1000000);
	search->has_tag_filters = filters->regions_count || filters->countries_count ||
				  sieve->available_only || sieve->has_oldest;
	return prepare_regions(search) && prepare_countries(search);
}

/* The first of [from, end) that passes; `end` when none does. Blocks grow, since most often it is
 * among the next few. */
static uint32_t first_passing(const struct search *search, const struct offer_list *list,
			      uint32_t from, uint32_t end)
{
	struct verdicts verdicts;

	for (uint32_t count = 8; search->has_tag_filters && from < end; from += count) {
		uint64_t passing;

		count = count < BLOCK ? count * 2 : BLOCK;
		count = count < end - from ? count : end - from;
		passing = ~judge(search, list, from, count, &verdicts) & all_of(count);
		if (passing)
			return from + (uint32_t)__builtin_ctzll(passing);
	}
	return from < end ? from : end;
}

uint32_t search_next(const struct search *search, const struct offer_list *list, uint32_t from)
{
	/* Sold-out offers come last in a list. */
	return first_passing(search, list, from, list->first + list->launchable);
}

uint32_t search_count_passing(const struct search *search, const struct offer_list *list,
			      uint32_t from, uint32_t end)
{
	struct verdicts verdicts;
	uint32_t passing = end - from, count;

	for (; search->has_tag_filters && from < end; from += count) {
		count = end - from < BLOCK ? end - from : BLOCK;
		passing -= count_bits(judge(search, list, from, count, &verdicts));
	}
	return passing;
}

/* Where each filter alone first keeps an offer out. */
static void note_missed(const struct verdicts *verdicts, uint32_t at, struct missed *missed)
{
	const uint64_t *failed = verdicts->failed;

	for (int place = 0; place < TAG_REASONS; place++) {
		uint64_t only = failed[place];

		if (!only || missed->next[place])
			continue;
		for (int other = 0; other < TAG_REASONS; other++)
			if (other != place)
				only &= ~failed[other];
		if (only)
			missed->next[place] = at + (uint32_t)__builtin_ctzll(only) + 1;
	}
}

/* Counts by the first filter that each fails. */
static void count_failed(const struct verdicts *verdicts, uint32_t counts[TAG_REASONS])
{
	uint64_t told = 0;

	for (int place = 0; place < TAG_REASONS; place++) {
		uint64_t failed = verdicts->failed[place] & ~told;

		if (failed)
			counts[place] += count_bits(failed);
		told |= failed;
	}
}

/* The launchable ones of a list, where filters look at single offers. */
static void scan_list(struct search *search, const struct offer_list *list, struct missed *missed,
		      struct passing *out)
{
	const struct shape *shape = &search->catalogue->shapes[list->shape];
	uint32_t end = list->first + list->launchable, counts[TAG_REASONS] = {0}, count;

	*out = (struct passing){end, list->launchable, true};
	for (uint32_t at = list->first; at < end; at += count) {
		struct verdicts verdicts;
		uint64_t failed, passing;

		count = end - at < BLOCK ? end - at : BLOCK;
		failed = judge(search, list, at, count, &verdicts);
		passing = ~failed & all_of(count);
		if (passing && out->first == end)
			out->first = at + (uint32_t)__builtin_ctzll(passing);
		if (!failed)
			continue;
		note_missed(&verdicts, at, missed);
		count_failed(&verdicts, counts);
	}
	for (int place = 0; place < TAG_REASONS; place++) {
		search_tally(search, tag_reasons[place], shape, counts[place]);
		out->count -= counts[place];
	}
}

void search_scan_list(struct search *search, const struct offer_list *list, struct passing *out)
{
	const struct catalogue *catalogue = search->catalogue;
	struct missed *missed = &search->missed[list - catalogue->lists];
	uint32_t sold_out = list->first + list->launchable, end = list->first + list->count;
	uint32_t first = end;

	search_tally(search, EXCLUSION_SOLD_OUT, &catalogue->shapes[list->shape], end - sold_out);
	/* What is sold out is not available. */
	if (!search->sieve.available_only)
		first = first_passing(search, list, sold_out, end);
	if (first < end)
		missed->next[TAG_REASONS] = first + 1;
	if (search->has_tag_filters)
		scan_list(search, list, missed, out);
	else
		*out = (struct passing){list->first, list->launchable, true};
}
