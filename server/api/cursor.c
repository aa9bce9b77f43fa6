/*
 * Cursor: see cursor.h. The inside is fields separated by unit separators, with a checksum in front
 * against texts that were cut or edited by accident, in base64url (RFC 4648 5, no padding).
 */
#include "server/api/cursor.h"

#include "core/base64.h"
#include "core/hash.h"
#include "core/offer.h"
#include "server/api/query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATOR "\x1f"
#define CHECKSUM_TEXT 8

static uint32_t checksum(const char *text)
{
	uint64_t hash = hash_text(HASH_START, text);

	return (uint32_t)(hash ^ hash >> 32);
}

const char *cursor_encode(struct arena *arena, const struct cursor *cursor)
{
	char id[OFFER_ID_TEXT];
	const char *text;
	int i;

	offer_id_format(cursor->id, id);
	text = arena_printf(arena,
			    "%s" SEPARATOR "%" PRId64 SEPARATOR "%" PRId64 SEPARATOR
			    "%016" PRIx64 SEPARATOR "%s",
			    cursor->epoch, cursor->first_version, cursor->version, cursor->filter,
			    id);
	for (i = 0; text && i < cursor->keys_count; i++) {
		const struct cursor_key *key = &cursor->keys[i];

		if (key->is_unknown)
			text = arena_printf(arena, "%s" SEPARATOR "u", text);
		else if (key->text)
			text = arena_printf(arena, "%s" SEPARATOR "s%s", text, key->text);
		else
			text = arena_printf(arena, "%s" SEPARATOR "n%" PRId64, text, key->number);
	}
	if (text)
		text = arena_printf(arena, "%08" PRIx32 "%s", checksum(text), text);
	return text ? base64_encode(arena, text, strlen(text)) : NULL;
}

/* Cuts the next field off; NULL at the end. */
static char *next_field(char **rest)
{
	char *field = *rest;

	if (field) {
		*rest = strstr(field, SEPARATOR);
		if (*rest)
			*(*rest)++ = '\0';
	}
	return field;
}

static bool read_key(char *field, struct cursor_key *out)
{
	*out = (struct cursor_key){.is_unknown = *field == 'u'};
	if (*field == 's')
		out->text = field + 1;
	else if (*field == 'n')
		out->number = strtoll(field + 1, NULL, 10);
	else
		return out->is_unknown;
	return true;
}

bool cursor_decode(struct arena *arena, const char *text, struct cursor *out)
{
	char *plain, *rest, *field;
	char sum[CHECKSUM_TEXT + 1];
	size_t length;

	memset(out, 0, sizeof(*out));
	if (strlen(text) > CURSOR_TEXT_MAX)
		return false;
	plain = base64_decode(arena, BASE64_URL, text, strlen(text), &length);
	if (!plain || strlen(plain) != length || length < CHECKSUM_TEXT)
		return false;
	rest = plain + CHECKSUM_TEXT;
	snprintf(sum, sizeof(sum), "%08" PRIx32, checksum(rest));
	if (strncmp(plain, sum, CHECKSUM_TEXT) != 0)
		return false;
	field = next_field(&rest);
	if (!field || strlen(field) >= EPOCH_TEXT)
		return false;
	memcpy(out->epoch, field, strlen(field) + 1);
	field = next_field(&rest);
	out->first_version = field ? strtoll(field, NULL, 10) : 0;
	field = next_field(&rest);
	out->version = field ? strtoll(field, NULL, 10) : 0;
	field = next_field(&rest);
	out->filter = field ? strtoull(field, NULL, 16) : 0;
	field = next_field(&rest);
	if (!field || !offer_id_parse(field, &out->id))
		return false;
	while ((field = next_field(&rest)))
		if (out->keys_count == CURSOR_KEYS_MAX ||
		    !read_key(field, &out->keys[out->keys_count++]))
			return false;
	return true;
}
