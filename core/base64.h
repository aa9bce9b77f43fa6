/*
 * Base64 (RFC 4648): bytes as text. What is written has the alphabet of URLs and no padding; what
 * is read may have either alphabet.
 */
#ifndef CORE_BASE64_H
#define CORE_BASE64_H

#include "core/arena.h"

#include <stddef.h>

enum base64_alphabet { BASE64_URL, BASE64_STANDARD };

/* Terminated; NULL without memory. */
const char *base64_encode(struct arena *arena, const void *bytes, size_t length);

/* The bytes, terminated, of a text without its padding. There is one text for each: NULL when bits
 * that carry nothing are set, or the text is none, or memory is out. */
char *base64_decode(struct arena *arena, enum base64_alphabet alphabet, const char *text,
		    size_t text_length, size_t *length);

#endif
