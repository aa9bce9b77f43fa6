/* Keys: see key.h. */
#include "server/key.h"

#include "server/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#define ID_CHARS ((size_t)KEY_ID_TEXT - 1)
#define SECRET_CHARS 43 /* 62^43 > 2^256 */
#define CHECKSUM_CHARS 6
#define PREFIX_CHARS (sizeof(KEY_PREFIX) - 1)
#define BODY_CHARS (PREFIX_CHARS + ID_CHARS + 1 + SECRET_CHARS)
#define UNBIASED 248 /* the largest multiple of 62 in a byte */

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char *const scope_text[SCOPES] = {"read", "private_prices", "admin"};
const struct names scope_names = {scope_text, SCOPES};

bool scopes_parse(const char *list, unsigned *out, struct error *error)
{
	unsigned scopes = 0;

	while (*(list += strspn(list, ", \t"))) {
		size_t length = strcspn(list, ", \t");
		char name[32];
		int place;

		snprintf(name, sizeof(name), "%.*s", length < 31 ? (int)length : 31, list);
		place = names_find(&scope_names, name);
		if (place < 0) {
			const char *nearest = names_nearest(&scope_names, name);

			return error_set(error, ERROR_INVALID,
					 "'%s' is no scope%s%s%s (read, private_prices, admin)",
					 name, nearest ? ", did you mean '" : "",
					 nearest ? nearest : "", nearest ? "'?" : "");
		}
		scopes |= 1u << place;
		list += length;
	}
	*out = scopes;
	return true;
}

void scopes_format(unsigned scopes, char out[SCOPES_TEXT])
{
	size_t used = 0;

	out[0] = '\0';
	for (int i = 0; i < SCOPES; i++)
		if (scopes >> i & 1)
			used += (size_t)snprintf(out + used, SCOPES_TEXT - used, "%s%s",
						 used ? "," : "", scope_text[i]);
}

static bool fill_random(char *out, size_t count)
{
	unsigned char bytes[64];
	size_t filled = 0;

	while (filled < count) {
		ssize_t got = getrandom(bytes, sizeof(bytes), 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		for (ssize_t i = 0; i < got && filled < count; i++)
			if (bytes[i] < UNBIASED)
				out[filled++] = digits[bytes[i] % 62];
	}
	explicit_bzero(bytes, sizeof(bytes));
	return true;
}

static void hash_of(const char *text, size_t length, unsigned char out[KEY_HASH_BYTES])
{
	SHA256((const unsigned char *)text, length, out);
}

/* Against slips of the hand, not against people: of all that stands before. */
static void checksum(const char *text, char out[CHECKSUM_CHARS])
{
	unsigned char hash[KEY_HASH_BYTES];
	uint32_t number;

	hash_of(text, BODY_CHARS, hash);
	number = (uint32_t)hash[0] << 24 | (uint32_t)hash[1] << 16 | (uint32_t)hash[2] << 8 |
		 hash[3];
	for (int i = 0; i < CHECKSUM_CHARS; i++, number /= 62)
		out[i] = digits[number % 62];
}

bool key_generate(char text[KEY_TEXT])
{
	memcpy(text, KEY_PREFIX, PREFIX_CHARS);
	text[PREFIX_CHARS + ID_CHARS] = '_';
	if (!fill_random(text + PREFIX_CHARS, ID_CHARS) ||
	    !fill_random(text + PREFIX_CHARS + ID_CHARS + 1, SECRET_CHARS))
		return false;
	checksum(text, text + BODY_CHARS);
	text[KEY_TEXT - 1] = '\0';
	return true;
}

bool key_parse(const char *text, char id[KEY_ID_TEXT])
{
	char expected[CHECKSUM_CHARS];

	if (strlen(text) != KEY_TEXT - 1 || memcmp(text, KEY_PREFIX, PREFIX_CHARS) != 0 ||
	    strspn(text + PREFIX_CHARS, digits) != ID_CHARS ||
	    text[PREFIX_CHARS + ID_CHARS] != '_' ||
	    strspn(text + PREFIX_CHARS + ID_CHARS + 1, digits) != SECRET_CHARS + CHECKSUM_CHARS)
		return false;
	checksum(text, expected);
	if (CRYPTO_memcmp(expected, text + BODY_CHARS, CHECKSUM_CHARS) != 0)
		return false;
	memcpy(id, text + PREFIX_CHARS, ID_CHARS);
	id[ID_CHARS] = '\0';
	return true;
}

void key_hash(const char *text, unsigned char out[KEY_HASH_BYTES])
{
	hash_of(text, strlen(text), out);
}

bool key_matches(const struct key *key, const char *text)
{
	unsigned char hash[KEY_HASH_BYTES];

	key_hash(text, hash);
	return CRYPTO_memcmp(hash, key->hash, KEY_HASH_BYTES) == 0;
}

bool key_name_is_valid(const char *name)
{
	size_t length = strlen(name);

	for (const char *at = name; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	return length > 0 && length < KEY_NAME_TEXT && *name != ' ';
}

/* --- lines --- */

void key_format_hash(const unsigned char hash[KEY_HASH_BYTES], char out[KEY_HASH_TEXT])
{
	for (int i = 0; i < KEY_HASH_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

bool key_parse_hash(const char *text, unsigned char out[KEY_HASH_BYTES])
{
	if (strspn(text, "0123456789abcdef") != KEY_HASH_TEXT - 1 || text[KEY_HASH_TEXT - 1])
		return false;
	for (int i = 0; i < KEY_HASH_BYTES; i++) {
		unsigned byte;

		sscanf(text + 2 * i, "%2x", &byte);
		out[i] = (unsigned char)byte;
	}
	return true;
}

void key_format_line(const struct key *key, char out[KEY_LINE_TEXT])
{
	char hash[KEY_HASH_TEXT], scopes[SCOPES_TEXT];
	char created[CLOCK_TEXT], expires[CLOCK_TEXT];

	key_format_hash(key->hash, hash);
	scopes_format(key->scopes, scopes);
	clock_format(key->created_us, created);
	clock_format(key->expires_us, expires);
	snprintf(out, KEY_LINE_TEXT, "%s %s %s %s %s %s\n", key->id, hash, *scopes ? scopes : "-",
		 created, key->expires_us ? expires : "-", key->name);
}

/* The next blank-separated word, cut off in place; NULL at the end. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t");
	size_t length = strcspn(word, " \t");

	if (!*word)
		return NULL;
	*rest = word + length;
	if (**rest)
		*(*rest)++ = '\0';
	return word;
}

static bool parse_time(const char *text, int64_t *out)
{
	*out = strcmp(text, "-") == 0 ? 0 : clock_parse(text);
	return *out >= 0;
}

bool key_parse_line(const char *line, struct key *out, struct error *error)
{
	char copy[KEY_LINE_TEXT], *rest = copy, *words[5];
	size_t length = strcspn(line, "\r\n");

	*out = (struct key){.scopes = 0};
	if (length >= sizeof(copy))
		return error_set(error, ERROR_INVALID, "the line is too long");
	memcpy(copy, line, length);
	copy[length] = '\0';
	for (int i = 0; i < 5; i++)
		if (!(words[i] = next_word(&rest)))
			return error_set(error, ERROR_INVALID,
					 "it has fewer than six words: id, hash, scopes, created, "
					 "expires, name");
	rest += strspn(rest, " \t");
	if (strlen(words[0]) != ID_CHARS || strspn(words[0], digits) != ID_CHARS)
		return error_set(error, ERROR_INVALID, "the id is not %zu letters and digits",
				 ID_CHARS);
	memcpy(out->id, words[0], KEY_ID_TEXT);
	if (!key_parse_hash(words[1], out->hash))
		return error_set(error, ERROR_INVALID, "the hash is not 64 hexadecimal digits");
	if (strcmp(words[2], "-") != 0 && !scopes_parse(words[2], &out->scopes, error))
		return false;
	if (!parse_time(words[3], &out->created_us) || !parse_time(words[4], &out->expires_us))
		return error_set(error, ERROR_INVALID, "a time is not of RFC 3339, nor '-'");
	if (!key_name_is_valid(rest))
		return error_set(error, ERROR_INVALID,
				 "the name is not 1 to 100 characters without control characters");
	memcpy(out->name, rest, strlen(rest) + 1);
	return true;
}
