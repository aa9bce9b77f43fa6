/* Jwt: a claim signed with an RSA key (RS256), as services take it in exchange for a token. */
#ifndef SERVER_INGEST_PROVIDERS_JWT_H
#define SERVER_INGEST_PROVIDERS_JWT_H

#include "core/arena.h"

#include <stddef.h>

/* "<header>.<claims>.<signature>" in base64url, of two JSON texts; NULL when the PEM is no RSA key
 * or memory is out. */
const char *jwt_sign(struct arena *arena, const char *header, const char *claims, const char *pem);

#endif
