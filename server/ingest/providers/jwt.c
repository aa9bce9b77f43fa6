/* Jwt: see jwt.h. */
#include "server/ingest/providers/jwt.h"

#include "core/base64.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

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
	return ok ? base64_encode(arena, signature, length) : NULL;
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
	const char *first = base64_encode(arena, header, strlen(header));
	const char *second = base64_encode(arena, claims, strlen(claims));
	const char *text = first && second ? arena_printf(arena, "%s.%s", first, second) : NULL;
	const char *signature =
		key && text && EVP_PKEY_is_a(key, "RSA") ? sign(arena, text, key) : NULL;

	EVP_PKEY_free(key);
	BIO_free(input);
	return signature ? arena_printf(arena, "%s.%s", text, signature) : NULL;
}
