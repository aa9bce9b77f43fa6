/*
 * Key: an API key as text, and what is kept of it. Pure but for the randomness of a new one.
 *
 * "gpk_" id "_" secret checksum: 10, 43 and 6 characters of 0-9A-Za-z. The prefix lets scanners of
 * leaked secrets know one; the id is no secret and names the key in lists and logs; the secret has
 * 256 random bits; the checksum tells a mistyped key without a look-up. Kept is the SHA-256 of the
 * whole text: of so many random bits no slower hash is needed.
 */
#ifndef SERVER_KEY_H
#define SERVER_KEY_H

#include "core/error.h"
#include "core/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a caller may do: bits. */
enum scope { SCOPE_READ = 1, SCOPE_PRIVATE_PRICES = 2, SCOPE_ADMIN = 4 };
#define SCOPES 3
#define SCOPES_TEXT 64
extern const struct names scope_names; /* the n-th is of the bit 1 << n */

/* "read, private_prices" (commas or spaces between); "" is none. False and an error: unknown. */
bool scopes_parse(const char *list, unsigned *out, struct error *error);
void scopes_format(unsigned scopes, char out[SCOPES_TEXT]); /* "read,private_prices" */

#define KEY_PREFIX "gpk_"
#define KEY_ID_TEXT 11
#define KEY_TEXT (4 + 10 + 1 + 43 + 6 + 1)
#define KEY_NAME_TEXT 101
#define KEY_HASH_BYTES 32
#define KEY_HASH_TEXT (2 * KEY_HASH_BYTES + 1)

struct key {
	char id[KEY_ID_TEXT];
	unsigned char hash[KEY_HASH_BYTES];
	unsigned scopes;
	char name[KEY_NAME_TEXT];		    /* for people: whose it is, what for */
	int64_t created_us, expires_us, revoked_us; /* wall clock; the last two 0 = never */
};

/* A new one. False when the system gives no randomness. */
bool key_generate(char text[KEY_TEXT]);

/* The id, when the text has the form of a key and its checksum fits. */
bool key_parse(const char *text, char id[KEY_ID_TEXT]);

void key_hash(const char *text, unsigned char out[KEY_HASH_BYTES]);

/* Is `text` this key? Takes as long whatever differs. */
bool key_matches(const struct key *key, const char *text);

/* The hash as 64 hexadecimal digits. */
void key_format_hash(const unsigned char hash[KEY_HASH_BYTES], char out[KEY_HASH_TEXT]);
bool key_parse_hash(const char *text, unsigned char out[KEY_HASH_BYTES]);

/* 1 to 100 characters without control characters. */
bool key_name_is_valid(const char *name);

/* --- as a line of a file: id, hash, scopes, created, expires ("-" = never), name, by blanks --- */

#define KEY_LINE_TEXT 512
void key_format_line(const struct key *key, char out[KEY_LINE_TEXT]);
bool key_parse_line(const char *line, struct key *out, struct error *error);

#endif
