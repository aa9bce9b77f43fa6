/*
 * Catalogue grouping: offers → lists of one shape and provider, presorted by price. Sorting runs on
 * packed keys: a million offers are sorted whenever the table changes.
 */
#include "core/catalogue_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Published rates come in bands: a handful. Beyond these, offers share the first band's list. */
#define RATES_MOST 512

struct grouping {
	struct catalogue_build *build;
	struct catalogue_shapes shapes;
	double rates[RATES_MOST]; /* of interruption, in order of discovery */
	unsigned rates_count;
	const char **providers; /* sorted */
	uint32_t providers_count;
	const char **regions; /* sorted */
	uint32_t regions_count;
};

/* One offer on its way into a list: (shape, provider, price kind, term), whether it is sold out,
 * then price. */
struct entry {
	uint64_t list; /* the lowest bit: sold out */
	int64_t price_micros;
	const struct offer *offer;
};

static int compare_doubles(double a, double b)
{
	return (a > b) - (a < b);
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order;

	if (a->list != b->list)
		return a->list < b->list ? -1 : 1;
	if (a->price_micros != b->price_micros)
		return a->price_micros < b->price_micros ? -1 : 1;
	/* Ties: more of the rest of the machine, then name, then id, so that order never wavers. */
	order = compare_doubles(b->offer->ram_gib, a->offer->ram_gib);
	if (!order)
		order = compare_doubles(b->offer->vcpus, a->offer->vcpus);
	if (!order && a->offer->instance_type != b->offer->instance_type)
		order = strcmp(a->offer->instance_type, b->offer->instance_type);
	if (!order && a->offer->region != b->offer->region)
		order = strcmp(a->offer->region, b->offer->region);
	if (!order)
		order = a->offer->id < b->offer->id ? -1 : 1;
	return order;
}

/* Every distinct pooled text of one member, sorted; duplicates come in runs, so a short look back
 * and a sort suffice. */
static bool distinct_texts(struct grouping *grouping, size_t member, struct arena *arena,
			   const char ***out, uint32_t *out_count)
{
	const struct catalogue *catalogue = grouping->build->catalogue;
	struct arena scratch;
	struct pool seen;
	const char **texts;
	uint32_t count = 0;
	bool is_good = false;

	arena_init(&scratch, grouping->build->scratch.limit);
	if (!pool_init(&seen, &scratch, &scratch))
		goto out;
	for (uint32_t i = 0; i < catalogue->offers_count; i++)
		if (!pool_intern(&seen,
				 *(const char *const *)(const void *)((const char *)&grouping->build
									      ->offers[i] +
								      member)))
			goto out;
	texts = arena_array(arena, seen.count, sizeof(*texts));
	if (!texts)
		goto out;
	for (size_t i = 0; i < seen.capacity; i++)
		if (seen.slots[i])
			texts[count++] = pool_intern(&grouping->build->pool, seen.slots[i]);
	qsort(texts, count, sizeof(*texts), compare_texts);
	*out = texts;
	*out_count = count;
	is_good = true;
out:
	arena_release(&scratch);
	return is_good;
}

/* Ranks already found, by pointer: pooled texts repeat thousands of times. */
#define RANK_MEMO 1024
struct rank_memo {
	const char *texts[RANK_MEMO];
	uint32_t ranks[RANK_MEMO];
};

static uint32_t text_rank(struct rank_memo *memo, const char **texts, uint32_t count,
			  const char *text)
{
	size_t slot = (uintptr_t)text / 16 % RANK_MEMO;

	if (memo->texts[slot] != text) {
		const char **place = bsearch(&text, texts, count, sizeof(*texts), compare_texts);

		memo->texts[slot] = text;
		memo->ranks[slot] = (uint32_t)(place - texts);
	}
	return memo->ranks[slot];
}

#define SHAPE_SHIFT 37
#define PROVIDER_SHIFT 17
#define PROVIDER_MASK ((UINT64_C(1) << (SHAPE_SHIFT - PROVIDER_SHIFT)) - 1)
#define KIND_SHIFT 13
#define CLASS_SHIFT 1

/* The place of the offer's interruption rate, 1 and up; 0 for none that is published. */
static uint64_t rate_class(struct grouping *grouping, const struct offer *offer)
{
	double rate = terms_spot_interruptions_per_hour(offer->provider, offer->instance_type,
							offer->region, offer->interruption_band);

	if (isnan(rate))
		return 0;
	for (unsigned i = 0; i < grouping->rates_count; i++)
		if (compare_doubles(grouping->rates[i], rate) == 0)
			return i + 1;
	if (grouping->rates_count == RATES_MOST)
		return 1;
	grouping->rates[grouping->rates_count] = rate;
	return ++grouping->rates_count;
}

/* What makes price order equal cost order inside a list: 12 bits. */
static uint64_t cost_class(struct grouping *grouping, const struct offer *offer)
{
	if (offer->price_kind == PRICE_SPOT)
		return rate_class(grouping, offer);
	return offer->term_months < 0 ? 0 : (uint64_t)offer->term_months & 0xfff;
}

static uint64_t list_key(uint32_t shape, uint32_t provider, uint64_t class,
			 const struct offer *offer)
{
	return (uint64_t)shape << SHAPE_SHIFT | (uint64_t)provider << PROVIDER_SHIFT |
	       (uint64_t)offer->price_kind << KIND_SHIFT | class << CLASS_SHIFT |
	       (offer->availability == AVAILABILITY_NO);
}

static bool is_new_list(const struct entry *entries, uint32_t i)
{
	return i == 0 || entries[i].list >> CLASS_SHIFT != entries[i - 1].list >> CLASS_SHIFT;
}

static double rate_of(const struct grouping *grouping, const struct offer *offer, uint64_t key)
{
	uint64_t class = key >> CLASS_SHIFT & 0xfff;

	if (offer->price_kind != PRICE_SPOT || !class)
		return (double)NAN;
	return grouping->rates[class - 1];
}

/* Where lists are written to. */
struct writing {
	struct grouping *grouping;
	uint32_t *by_price;
	int64_t *prices, *observed;
	uint32_t *regions;
	uint16_t *countries;
	uint8_t *availabilities;
	struct offer_list *lists;
	struct rank_memo memo; /* of regions */
};

static bool writing_init(struct writing *writing, struct grouping *grouping, uint32_t count,
			 uint32_t lists_count)
{
	struct arena *arena = &grouping->build->catalogue->arena;

	*writing = (struct writing){
		.grouping = grouping,
		.by_price = arena_array(arena, count, sizeof(*writing->by_price)),
		.prices = arena_array(arena, count, sizeof(*writing->prices)),
		.observed = arena_array(arena, count, sizeof(*writing->observed)),
		.regions = arena_array(arena, count, sizeof(*writing->regions)),
		.countries = arena_array(arena, count, sizeof(*writing->countries)),
		.availabilities = arena_array(arena, count, sizeof(*writing->availabilities)),
		.lists = arena_array(arena, lists_count, sizeof(*writing->lists))};
	return writing->by_price && writing->prices && writing->observed && writing->regions &&
	       writing->countries && writing->availabilities && writing->lists;
}

static struct offer_list new_list(const struct grouping *grouping, const struct entry *entry,
				  uint32_t first)
{
	const struct offer *offer = entry->offer;
	uint32_t seller = (uint32_t)(entry->list >> PROVIDER_SHIFT & PROVIDER_MASK);

	return (struct offer_list){
		.shape = (uint32_t)(entry->list >> SHAPE_SHIFT),
		.first = first,
		.provider = offer->provider,
		.terms = grouping->build->catalogue->sellers[seller].terms,
		.price_kind = offer->price_kind,
		.term_months = offer->term_months,
		.interruptions_per_hour = rate_of(grouping, offer, entry->list),
		.oldest_us = offer->observed_at_us,
		.newest_us = offer->observed_at_us,
		.seller = seller,
	};
}

/* One more offer of the list, at the same or a higher price. */
static void count_offer(struct offer_list *list, struct shape *shape, const struct offer *offer)
{
	if (offer->availability == AVAILABILITY_NO) {
		if (list->count == list->launchable)
			list->sold_out_micros = offer->price_micros;
	} else {
		if (!list->launchable)
			list->cheapest_micros = offer->price_micros;
		list->launchable++;
		list->available += offer->availability == AVAILABILITY_YES;
	}
	list->count++;
	if (offer->observed_at_us < list->oldest_us)
		list->oldest_us = offer->observed_at_us;
	if (offer->observed_at_us > list->newest_us)
		list->newest_us = offer->observed_at_us;
	shape->offers++;
	if (offer->ram_gib > 0 && (!(shape->ram_gib > 0) || offer->ram_gib < shape->ram_gib))
		shape->ram_gib = offer->ram_gib;
}

static void write_columns(struct writing *writing, const struct offer *offer, uint32_t i)
{
	struct grouping *grouping = writing->grouping;

	writing->by_price[i] = (uint32_t)(offer - grouping->build->offers);
	writing->prices[i] = offer->price_micros;
	writing->observed[i] = offer->observed_at_us;
	writing->regions[i] = text_rank(&writing->memo, grouping->regions, grouping->regions_count,
					offer->region);
	writing->countries[i] = catalogue_country_tag(offer->country);
	writing->availabilities[i] = (uint8_t)offer->availability;
}

/* Offers lie in the order of their ids: in that of lists, none is in the cache. */
#define PREFETCH_AHEAD 8
#define CACHE_LINE_BYTES 64

static void prefetch(const struct entry *entries, uint32_t i, uint32_t count)
{
	const char *offer;

	if (i + PREFETCH_AHEAD >= count)
		return;
	offer = (const char *)entries[i + PREFETCH_AHEAD].offer;
	for (size_t at = 0; at < sizeof(struct offer); at += CACHE_LINE_BYTES)
		__builtin_prefetch(offer + at);
}

/* by_price, columns and lists from sorted entries. */
static bool write_lists(struct grouping *grouping, const struct entry *entries, uint32_t count)
{
	struct catalogue *catalogue = grouping->build->catalogue;
	struct offer_list *list = NULL;
	struct writing writing;
	uint32_t lists_count = 0;

	for (uint32_t i = 0; i < count; i++)
		lists_count += is_new_list(entries, i);
	if (!writing_init(&writing, grouping, count, lists_count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct entry *entry = &entries[i];
		struct shape *shape = &grouping->shapes.items[entry->list >> SHAPE_SHIFT];

		prefetch(entries, i, count);
		if (is_new_list(entries, i)) {
			list = list ? list + 1 : writing.lists;
			*list = new_list(grouping, entry, i);
			if (!shape->lists)
				shape->first_list = (uint32_t)(list - writing.lists);
			shape->lists++;
		}
		count_offer(list, shape, entry->offer);
		write_columns(&writing, entry->offer, i);
	}
	catalogue->by_price = writing.by_price;
	catalogue->columns =
		(struct offer_columns){writing.prices, writing.observed, writing.regions,
				       writing.countries, writing.availabilities};
	catalogue->listed_count = count;
	catalogue->lists = writing.lists;
	catalogue->lists_count = lists_count;
	catalogue->regions = grouping->regions;
	catalogue->regions_count = grouping->regions_count;
	return true;
}

static bool write_sellers(struct grouping *grouping)
{
	struct catalogue *catalogue = grouping->build->catalogue;
	struct offer_seller *sellers =
		arena_array(&catalogue->arena, grouping->providers_count, sizeof(*sellers));

	for (uint32_t i = 0; i < grouping->providers_count && sellers; i++)
		sellers[i] = (struct offer_seller){grouping->providers[i],
						   terms_find(grouping->providers[i])};
	catalogue->sellers = sellers;
	catalogue->sellers_count = grouping->providers_count;
	return sellers;
}

/* Entries for offers that have a shape and a price; the others are counted and kept apart, first in
 * `unlisted`, which has room for all. */
static bool make_entries(struct grouping *grouping, struct entry *entries, uint32_t *unlisted,
			 uint32_t *count)
{
	struct catalogue *catalogue = grouping->build->catalogue;
	uint32_t *kept;

	*count = 0;
	for (uint32_t i = 0; i < catalogue->offers_count; i++) {
		const struct offer *offer = &grouping->build->offers[i];
		uint32_t shape;

		if (!catalogue_shapes_find(&grouping->shapes, offer, &shape))
			return false;
		if (shape == CATALOGUE_NO_SHAPE) {
			catalogue->unmapped_offers++;
			unlisted[catalogue->unlisted_count++] = i;
		} else if (offer->price_micros <= 0) {
			catalogue->unpriced_offers++;
			unlisted[catalogue->unlisted_count++] = i;
		} else {
			/* The shape's place is known only once all are. */
			entries[(*count)++] = (struct entry){shape, offer->price_micros, offer};
		}
	}
	kept = arena_array(&catalogue->arena, catalogue->unlisted_count, sizeof(*kept));
	if (!kept)
		return false;
	memcpy(kept, unlisted, catalogue->unlisted_count * sizeof(*kept));
	catalogue->unlisted = kept;
	return true;
}

bool catalogue_group(struct catalogue_build *build)
{
	struct catalogue *catalogue = build->catalogue;
	struct grouping grouping = {.build = build, .shapes = {.scratch = &build->scratch}};
	struct entry *entries =
		arena_array(&build->scratch, catalogue->offers_count, sizeof(*entries));
	uint32_t *unlisted =
		arena_array(&build->scratch, catalogue->offers_count, sizeof(*unlisted));
	struct rank_memo memo = {0};
	uint32_t count;

	if (!entries || !unlisted || !make_entries(&grouping, entries, unlisted, &count) ||
	    !catalogue_shapes_sort(&grouping.shapes, catalogue) ||
	    !distinct_texts(&grouping, offsetof(struct offer, provider), &build->scratch,
			    &grouping.providers, &grouping.providers_count) ||
	    !distinct_texts(&grouping, offsetof(struct offer, region), &catalogue->arena,
			    &grouping.regions, &grouping.regions_count) ||
	    !write_sellers(&grouping))
		return false;
	for (uint32_t i = 0; i < count; i++)
		entries[i].list =
			list_key(grouping.shapes.ranks[entries[i].list],
				 text_rank(&memo, grouping.providers, grouping.providers_count,
					   entries[i].offer->provider),
				 cost_class(&grouping, entries[i].offer), entries[i].offer);
	qsort(entries, count, sizeof(*entries), compare_entries);
	return write_lists(&grouping, entries, count);
}
