/* Base64: see base64.h. */
#include "core/base64.h"

#include <stdint.h>
#include <string.h>

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static const char digits[][65] = {[BASE64_URL] = LETTERS "-_", [BASE64_STANDARD] = LETTERS "+/"};

const char *base64_encode(struct arena *arena, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	char *out = arena_alloc(arena, length / 3 * 4 + 5), *end = out;

	for (size_t i = 0; out && i < length; i += 3) {
		const size_t left = length - i < 3 ? length - i : 3;
		uint32_t bits = (uint32_t)at[i] << 16;

		if (left > 1)
			bits |= (uint32_t)at[i + 1] << 8;
		if (left > 2)
			bits |= at[i + 2];
		for (size_t digit = 0; digit <= left; digit++)
			*end++ = digits[BASE64_URL][bits >> (18 - 6 * digit) & 63];
	}
	if (out)
		*end = '\0';
	return out;
}

char *base64_decode(struct arena *arena, enum base64_alphabet alphabet, const char *text,
		    size_t text_length, size_t *length)
{
	char *out = arena_alloc(arena, text_length / 4 * 3 + 4), *end = out;
	uint32_t bits = 0;

	if (!out || text_length % 4 == 1)
		return NULL;
	for (size_t i = 0; i < text_length; i++) {
		const char *digit = memchr(digits[alphabet], text[i], 64);

		if (!digit)
			return NULL;
		bits = bits << 6 | (uint32_t)(digit - digits[alphabet]);
		if (i % 4)
			*end++ = (char)(bits >> (6 - i % 4 * 2) & 0xff);
	}
	if ((text_length % 4 == 2 && bits & 15) || (text_length % 4 == 3 && bits & 3))
		return NULL;
	*end = '\0';
	*length = (size_t)(end - out);
	return out;
}
