/* Offer: its stable id, and equality of keys: see offer.h. */
#include "core/offer.h"

#include "core/hash.h"

#include <string.h>

/* Ends each string, so that ("a", "bc") and ("ab", "c") differ; no key holds this byte. */
#define SEPARATOR 0x1f

static const char *const price_kind_text[PRICE_KINDS] = {
	[PRICE_ON_DEMAND] = "on_demand",
	[PRICE_SPOT] = "spot",
	[PRICE_RESERVED] = "reserved",
};
static const char *const availability_text[AVAILABILITIES] = {
	[AVAILABILITY_UNKNOWN] = "unknown",
	[AVAILABILITY_YES] = "yes",
	[AVAILABILITY_NO] = "no",
};

const struct names price_kind_names = {price_kind_text, PRICE_KINDS};
const struct names availability_names = {availability_text, AVAILABILITIES};

static uint64_t mix_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = hash_byte(hash, (unsigned char)*text);
	return hash_byte(hash, SEPARATOR);
}

/* Byte by byte from the low end: the same on every machine. */
static uint64_t mix_number(uint64_t hash, uint32_t number)
{
	for (int i = 0; i < 4; i++)
		hash = hash_byte(hash, (unsigned char)(number >> (8 * i)));
	return hash;
}

/* FNV alone leaves the high bits weak for short keys that differ at the end (finalizer of
 * MurmurHash3). */
static uint64_t finish(uint64_t hash)
{
	hash ^= hash >> 33;
	hash *= UINT64_C(0xff51afd7ed558ccd);
	hash ^= hash >> 33;
	hash *= UINT64_C(0xc4ceb9fe1a85ec53);
	hash ^= hash >> 33;
	return hash;
}

bool offer_source_is_private(const char *source)
{
	return source && strncmp(source, OFFER_SOURCE_OWN, sizeof(OFFER_SOURCE_OWN) - 1) == 0;
}

bool offer_is_private(const struct offer *offer)
{
	const char *basis = offer->price_basis ? offer->price_basis : "";
	size_t length = strlen(basis), tail = sizeof(OFFER_BASIS_DISCOUNTED) - 1;

	return offer_source_is_private(offer->source) ||
	       (length >= tail && strcmp(basis + length - tail, OFFER_BASIS_DISCOUNTED) == 0);
}

uint64_t offer_id(const struct offer *offer)
{
	uint64_t hash = HASH_START;

	hash = mix_text(hash, offer->provider);
	hash = mix_text(hash, offer->region);
	hash = mix_text(hash, offer->zone);
	hash = mix_text(hash, offer->instance_type);
	hash = mix_text(hash, offer->accelerator);
	hash = mix_number(hash, (uint32_t)offer->count_milli);
	hash = mix_text(hash, offer->tier);
	hash = mix_number(hash, (uint32_t)offer->price_kind);
	hash = mix_number(hash, (uint32_t)offer->term_months);
	return finish(hash);
}

void offer_id_format(uint64_t id, char out[OFFER_ID_TEXT])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = OFFER_ID_TEXT - 2; i >= 0; i--, id >>= 4)
		out[i] = digits[id & 0xf];
	out[OFFER_ID_TEXT - 1] = '\0';
}

bool offer_id_parse(const char *text, uint64_t *id)
{
	uint64_t value = 0;

	for (int i = 0; i < OFFER_ID_TEXT - 1; i++) {
		char c = text[i];

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false; /* also where the text ends early */
	}
	if (text[OFFER_ID_TEXT - 1] != '\0')
		return false;
	*id = value;
	return true;
}

bool offer_key_equal(const struct offer *a, const struct offer *b)
{
	return a->count_milli == b->count_milli && a->price_kind == b->price_kind &&
	       a->term_months == b->term_months && strcmp(a->provider, b->provider) == 0 &&
	       strcmp(a->region, b->region) == 0 && strcmp(a->zone, b->zone) == 0 &&
	       strcmp(a->instance_type, b->instance_type) == 0 &&
	       strcmp(a->accelerator, b->accelerator) == 0 && strcmp(a->tier, b->tier) == 0;
}
