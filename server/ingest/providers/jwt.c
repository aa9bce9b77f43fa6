/* Jwt: see jwt.h. */
#include "server/ingest/providers/jwt.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdint.h>
#include <string.h>

/* Base64 with the alphabet of URLs and without padding. */
static const char *encode(struct arena *arena, const unsigned char *bytes, size_t length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	char *out = arena_alloc(arena, length / 3 * 4 + 5);
	size_t used = 0;

	for (size_t i = 0; out && i < length; i += 3) {
		const size_t left = length - i < 3 ? length - i : 3;
		uint32_t word = (uint32_t)bytes[i] << 16;

		if (left > 1)
			word |= (uint32_t)bytes[i + 1] << 8;
		if (left > 2)
			word |= bytes[i + 2];
		for (size_t digit = 0; digit <= left; digit++)
			out[used++] = digits[word >> (18 - 6 * digit) & 63];
	}
	if (out)
		out[used] = '\0';
	return out;
}

static const char *sign(struct arena *arena, const char *text, EVP_PKEY *key)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char *signature = NULL;
	size_t length = 0;
	bool ok = context && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
		  EVP_DigestSign(context, NULL, &length, (const unsigned char *)text,
				 strlen(text)) == 1;

	if (ok)
		signature = arena_alloc(arena, length);
	ok = ok && signature &&
	     EVP_DigestSign(context, signature, &length, (const unsigned char *)text,
			    strlen(text)) == 1;
	EVP_MD_CTX_free(context);
	return ok ? encode(arena, signature, length) : NULL;
}

/* The library's own would ask on the terminal. */
static int no_password(char *out, int size, int is_writing, void *closure)
{
	(void)out;
	(void)size;
	(void)is_writing;
	(void)closure;
	return -1;
}

const char *jwt_sign(struct arena *arena, const char *header, const char *claims, const char *pem)
{
	const size_t length = strlen(pem);
	BIO *input = length < INT_MAX ? BIO_new_mem_buf(pem, (int)length) : NULL;
	EVP_PKEY *key = input ? PEM_read_bio_PrivateKey(input, NULL, no_password, NULL) : NULL;
	const char *first = encode(arena, (const unsigned char *)header, strlen(header));
	const char *second = encode(arena, (const unsigned char *)claims, strlen(claims));
	const char *text = first && second ? arena_printf(arena, "%s.%s", first, second) : NULL;
	const char *signature =
		key && text && EVP_PKEY_is_a(key, "RSA") ? sign(arena, text, key) : NULL;

	EVP_PKEY_free(key);
	BIO_free(input);
	return signature ? arena_printf(arena, "%s.%s", text, signature) : NULL;
}
