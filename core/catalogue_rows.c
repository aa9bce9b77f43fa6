/*
 * Catalogue rows: offers as a catalogue keeps them. Of a million offers every byte counts: texts
 * are numbers of the table of distinct ones, which a row names in four bytes instead of eight.
 */
#include "core/catalogue_parts.h"

#include <string.h>

/* A new member of an offer must be packed and unpacked too. */
_Static_assert(sizeof(void *) != 8 || sizeof(struct offer) == 240, "see pack()");

static const size_t text_members[OFFER_TEXTS] = {
#define X(name) offsetof(struct offer, name),
	OFFER_TEXT_FIELDS(X)
#undef X
};

static const char **text_of(struct offer *offer, int i)
{
	return (const char **)(void *)((char *)offer + text_members[i]);
}

bool catalogue_intern(struct catalogue_build *build, struct offer *offer,
		      const struct offer *previous)
{
	for (int i = 0; i < OFFER_TEXTS; i++) {
		const char **text = text_of(offer, i);
		const char *const *before =
			(const char *const *)(const void *)((const char *)previous +
							    text_members[i]);

		if (!*text)
			*text = "";
		/* Rows of a feed come in runs, so the previous row's copy often serves. */
		if (*before && strcmp(*text, *before) == 0)
			*text = *before;
		else
			*text = pool_intern(&build->pool, *text);
		if (!*text)
			return false;
	}
	return true;
}

/* Texts numbered already, by pointer: they repeat thousands of times. */
#define NUMBER_MEMO 4096
struct number_memo {
	const char *texts[NUMBER_MEMO];
	uint32_t numbers[NUMBER_MEMO];
};

static uint32_t number_of(struct number_memo *memo, const struct pool *pool, const char *text)
{
	size_t slot = (uintptr_t)text / 16 % NUMBER_MEMO;

	if (memo->texts[slot] != text) {
		memo->texts[slot] = text;
		memo->numbers[slot] = pool_number(pool, text);
	}
	return memo->numbers[slot];
}

static void pack(struct offer_row *row, struct offer *offer, struct number_memo *memo,
		 const struct pool *pool)
{
	*row = (struct offer_row){
		.id = offer->id,
		.price_micros = offer->price_micros,
		.upfront_micros = offer->upfront_micros,
		.observed_at_us = offer->observed_at_us,
		.first_seen_us = offer->first_seen_us,
		.last_seen_us = offer->last_seen_us,
		.version = offer->version,
		.public_version = offer->public_version,
		.memory_gb = offer->memory_gb,
		.vcpus = offer->vcpus,
		.ram_gib = offer->ram_gib,
		.disk_gb = offer->disk_gb,
		.count_milli = offer->count_milli,
		.quantity = offer->quantity,
		.term_months = offer->term_months,
		.price_kind = (uint8_t)offer->price_kind,
		.availability = (uint8_t)offer->availability,
		.interruption_band = (uint8_t)offer->interruption_band,
		.is_mapped = offer->is_mapped,
	};
	for (int i = 0; i < OFFER_TEXTS; i++)
		row->texts[i] = number_of(memo, pool, *text_of(offer, i));
}

bool catalogue_pack(struct catalogue_build *build)
{
	struct catalogue *catalogue = build->catalogue;
	struct offer_row *rows =
		arena_array(&catalogue->arena, catalogue->offers_count, sizeof(*rows));
	struct number_memo *memo = arena_alloc(&build->scratch, sizeof(*memo));
	const char **texts = arena_array(&catalogue->arena, build->pool.count, sizeof(*texts));

	if (!rows || !memo || !texts)
		return false;
	for (uint32_t i = 0; i < catalogue->offers_count; i++)
		pack(&rows[i], &build->offers[i], memo, &build->pool);
	pool_list(&build->pool, texts);
	catalogue->rows = rows;
	catalogue->texts = texts;
	return true;
}

void catalogue_read(const struct catalogue *catalogue, uint32_t place, struct offer *out)
{
	const struct offer_row *row = &catalogue->rows[place];

	*out = (struct offer){
		.id = row->id,
		.price_micros = row->price_micros,
		.upfront_micros = row->upfront_micros,
		.observed_at_us = row->observed_at_us,
		.first_seen_us = row->first_seen_us,
		.last_seen_us = row->last_seen_us,
		.version = row->version,
		.public_version = row->public_version,
		.memory_gb = row->memory_gb,
		.vcpus = row->vcpus,
		.ram_gib = row->ram_gib,
		.disk_gb = row->disk_gb,
		.count_milli = row->count_milli,
		.quantity = row->quantity,
		.term_months = row->term_months,
		.price_kind = (enum price_kind)row->price_kind,
		.availability = (enum availability)row->availability,
		.interruption_band = row->interruption_band,
		.is_mapped = row->is_mapped,
		.place = place,
	};
	for (int i = 0; i < OFFER_TEXTS; i++)
		*text_of(out, i) = catalogue->texts[row->texts[i]];
}

uint64_t catalogue_id(const struct catalogue *catalogue, uint32_t place)
{
	return catalogue->rows[place].id;
}

/* Among offers [low, high), sorted by id. */
static uint32_t find_within(const struct catalogue *catalogue, uint32_t low, uint32_t high,
			    uint64_t id)
{
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (catalogue->rows[middle].id == id)
			return middle;
		if (catalogue->rows[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return CATALOGUE_NOWHERE;
}

uint32_t catalogue_find(const struct catalogue *catalogue, uint64_t id)
{
	uint32_t found = find_within(catalogue, 0, catalogue->public_count, id);

	return found != CATALOGUE_NOWHERE ? found
					  : find_within(catalogue, catalogue->public_count,
							catalogue->offers_count, id);
}

const char *catalogue_text(const struct catalogue *catalogue, uint32_t place, enum offer_text which)
{
	return catalogue->texts[catalogue->rows[place].texts[which]];
}
