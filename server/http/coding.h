/*
 * Coding: answers in gzip for who accepts it (RFC 9110 8.4, 12.5.3). The tags of answers are weak,
 * so that one stands for every coding of the same answer (8.8.3.3).
 */
#ifndef SERVER_HTTP_CODING_H
#define SERVER_HTTP_CODING_H

#include "server/http/request.h"

struct coder; /* a worker's: what deflating needs is made once */

/* Bytes of answers in gzip that are kept, since many poll the same within a second. */
#define CODING_KEPT_BYTES_MAX ((size_t)16 << 20)

struct coder *coder_new(void); /* NULL when memory is out */
void coder_free(struct coder *coder);

/* Does Accept-Encoding take gzip? NULL: it does not. */
bool coding_takes_gzip(const char *accept_encoding);

/* Can answers of this route differ by Accept-Encoding? Then Vary says so. */
bool coding_varies(const struct request *request);

/* "gzip" when this caller's answers shall be coded, if they are worth it; else "". */
const char *coding_choose(const struct request *request);

/* Codes a finished reply as request->coding says; leaves it alone when it is small, not text, or
 * memory is out. */
void coding_apply(struct coder *coder, const struct request *request, struct reply *reply);

#endif
