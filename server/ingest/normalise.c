/*
 * Normalise: what a parser took from a feed, made fit for the table: canonical card names by exact
 * rules, sane prices, totals of memory that agree with the card, one row a key. A row that does not
 * pass is dropped and counted under its reason; a spelling that no rule knows is kept as it is and
 * counted, since a card that vanishes silently is what users of peers complain about.
 */
#include "server/ingest/ingest.h"

#include "core/accelerator.h"
#include "core/catalogue.h"
#include "core/country.h"
#include "server/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX 200
#define FLOOR_MICROS_GPU_HOUR 10000.0 /* 0.01 USD: an auction's floor or a unit gone wrong */
#define CEILING_USD_GPU_HOUR 75.0     /* a GB200 in the dearest regions was 54 in 06/2026 */
#define CEILING_USD_UNMAPPED                                                                       \
	1000.0 /* of a whole machine: how many GPUs it has may be unknown too */

/* Control characters: C0, DEL, and C1, which UTF-8 writes as C2 80 to C2 9F. */
static bool has_control(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0))
			return true;
	return false;
}

static bool is_text(const char *text)
{
	size_t length = strnlen(text, TEXT_BYTES_MAX + 1);

	return length <= TEXT_BYTES_MAX && utf8_is_valid(text, length) && !has_control(text);
}

static bool has_good_texts(const struct offer *offer)
{
#define X(name) is_text(offer->name) &&
	return OFFER_TEXT_FIELDS(X) offer->accelerator[0];
#undef X
}

/* The most that one GPU-hour of such a card may cost, host included, in dollars. */
static double ceiling_usd(const struct accelerator *card)
{
	return fmin(fmax(card->memory_gb * 0.5, 10.0), CEILING_USD_GPU_HOUR);
}

static bool is_sane_price(const struct offer *offer, const struct accelerator *card)
{
	double gpus = (double)offer->count_milli / COUNT_MILLI_ONE;
	double each = (double)offer->price_micros / gpus;

	if (!card)
		return (double)offer->price_micros <= CEILING_USD_UNMAPPED * 1e6;
	return each >= FLOOR_MICROS_GPU_HOUR && each <= ceiling_usd(card) * 1e6;
}

static bool is_sane_memory(const struct offer *offer, const struct accelerator *card)
{
	double gpus = (double)offer->count_milli / COUNT_MILLI_ONE;

	return accelerator_memory_agrees(card, offer->memory_gb / gpus);
}

static bool is_sane_number(double value)
{
	return isfinite(value) && value >= 0 && value < 1e9;
}

/* As the feed tells it, where that is a country; else where the region is known to lie. */
static void fill_country(struct feed *feed, struct offer *offer)
{
	char code[COUNTRY_TEXT];

	if (!country_read(offer->country, code) || !country_is_assigned(code))
		country_of_region(offer->provider, offer->region, code);
	if (strcmp(offer->country, code) != 0)
		offer->country = feed_text(feed, code);
}

/* Of which offer an absurd price was told: what is wrong with it may be over by the next refresh.
 */
static void note_refused(struct feed *feed, struct offer *offer, const struct accelerator *card)
{
	if (!feed->refused)
		feed->refused = arena_array(feed->arena, feed->count, sizeof(*feed->refused));
	if (!feed->refused)
		return;
	if (card)
		offer->accelerator = card->name;
	feed->refused[feed->refused_count++] = offer_id(offer);
}

/* True when the row stays. */
static bool normalise_offer(const struct provider *provider, struct feed *feed, struct offer *offer)
{
	const struct accelerator *card;

	offer->provider = provider->id;
	offer->source = provider->source;
	if (!has_good_texts(offer)) {
		feed_reject(feed, REJECTED_TEXT, "%.60s: a text is empty, too long or not UTF-8",
			    is_text(offer->instance_type) ? offer->instance_type : "?");
		return false;
	}
	fill_country(feed, offer);
	if (offer->count_milli <= 0 || offer->count_milli > 4096 * COUNT_MILLI_ONE ||
	    offer->term_months < 0 || !is_sane_number(offer->memory_gb) ||
	    !is_sane_number(offer->vcpus) || !is_sane_number(offer->ram_gib) ||
	    !is_sane_number(offer->disk_gb)) {
		feed_reject(feed, REJECTED_SCHEMA, "%.60s: a number is out of range",
			    offer->instance_type);
		return false;
	}
	if (offer->price_micros <= 0) {
		feed_reject(feed, REJECTED_NO_PRICE, "%.60s in \"%.30s\": no price",
			    offer->instance_type, offer->region);
		return false;
	}
	card = accelerator_resolve(provider->id, offer->accelerator);
	if (!card) /* one of several cards, which the memory may tell apart */
		card = accelerator_resolve_memory(provider->id, offer->accelerator,
						  offer->memory_gb * COUNT_MILLI_ONE /
							  offer->count_milli);
	if (!is_sane_price(offer, card)) {
		feed_reject(feed, REJECTED_PRICE, "%.60s: %lld micro-dollars for %d/1000 GPUs",
			    offer->instance_type, (long long)offer->price_micros,
			    offer->count_milli);
		note_refused(feed, offer, card);
		return false;
	}
	offer->is_mapped = card != NULL;
	if (!card)
		return true;
	if (offer->memory_gb > 0 && !is_sane_memory(offer, card)) {
		feed_reject(feed, REJECTED_MEMORY, "%.60s: %g GB told for %d/1000 of %s",
			    offer->instance_type, offer->memory_gb, offer->count_milli, card->name);
		return false;
	}
	offer->accelerator = card->name;
	offer->memory_gb = (double)offer->count_milli / COUNT_MILLI_ONE * card->memory_gb;
	return true;
}

/* By id; of rows with one key the dearest first: nobody is promised less than is billed. */
static int by_id(const void *left, const void *right)
{
	const struct offer *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->price_micros != b->price_micros)
		return a->price_micros > b->price_micros ? -1 : 1;
	return (int)b->availability - (int)a->availability;
}

static void drop_duplicates(struct feed *feed)
{
	size_t kept = 0;

	if (feed->count)
		qsort(feed->offers, feed->count, sizeof(*feed->offers), by_id);
	for (size_t i = 0; i < feed->count; i++) {
		if (kept && feed->offers[kept - 1].id == feed->offers[i].id) {
			feed_reject(feed, REJECTED_DUPLICATE, "%.60s in \"%.30s\": told twice",
				    feed->offers[i].instance_type, feed->offers[i].region);
			continue;
		}
		feed->offers[kept++] = feed->offers[i];
	}
	feed->count = kept;
}

static int by_spelling(const void *left, const void *right)
{
	const struct unmapped *a = left, *b = right;

	return strcmp(a->spelling, b->spelling);
}

static bool list_unmapped(const struct provider *provider, struct feed *feed,
			  struct normalise_report *out)
{
	struct unmapped *list;
	size_t rows = 0, at = 0, kept = 0;

	for (size_t i = 0; i < feed->count; i++)
		rows += !feed->offers[i].is_mapped;
	list = arena_array(feed->arena, rows ? rows : 1, sizeof(*list));
	if (!list)
		return false;
	for (size_t i = 0; i < feed->count; i++) {
		if (feed->offers[i].is_mapped)
			continue;
		list[at++] = (struct unmapped){
			.provider = provider->id,
			.spelling = feed->offers[i].accelerator,
			.rows = 1,
			.first_seen_us = feed->now_us,
			.last_seen_us = feed->now_us,
		};
	}
	out->unmapped = (int64_t)rows;
	qsort(list, rows, sizeof(*list), by_spelling);
	for (size_t i = 0; i < rows; i++) {
		if (kept && strcmp(list[kept - 1].spelling, list[i].spelling) == 0)
			list[kept - 1].rows++;
		else
			list[kept++] = list[i];
	}
	out->unmapped_list = list;
	out->unmapped_count = kept;
	return true;
}

bool normalise(const struct provider *provider, struct feed *feed, struct normalise_report *out,
	       struct error *error)
{
	size_t kept = 0;

	*out = (struct normalise_report){0};
	for (size_t i = 0; i < feed->count; i++)
		if (normalise_offer(provider, feed, &feed->offers[i])) {
			feed->offers[kept] = feed->offers[i];
			feed->offers[kept].id = offer_id(&feed->offers[kept]);
			kept++;
		}
	feed->count = kept;
	drop_duplicates(feed);
	if (!list_unmapped(provider, feed, out))
		return error_set(error, ERROR_FEED, "no memory to list unknown spellings");
	out->accepted = (int64_t)feed->count;
	for (int reason = 0; reason < REJECTIONS; reason++)
		out->rejected += feed->rejected[reason];
	return true;
}
