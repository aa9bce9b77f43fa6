/* Coding: see coding.h. */
#include "server/http/coding.h"

#include "server/http/fields.h"
#include "server/http/http.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

/* Level 6 takes twice the time for an eighth less: perf.md of the shared facts. */
#define LEVEL 1
#define LEVEL_STATIC 9
#define GZIP_WINDOW (15 + 16)
#define MEMORY_LEVEL 8
#define STATIC_MAX 8 /* documents that are part of the program */

struct coder {
	z_stream stream;
};

struct coder *coder_new(void)
{
	struct coder *coder = calloc(1, sizeof(*coder));

	if (coder && deflateInit2(&coder->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
				  Z_DEFAULT_STRATEGY) != Z_OK) {
		free(coder);
		return NULL;
	}
	return coder;
}

void coder_free(struct coder *coder)
{
	if (!coder)
		return;
	deflateEnd(&coder->stream);
	free(coder);
}

bool coding_takes_gzip(const char *accept_encoding)
{
	int any = -1, gzip = -1;

	if (!accept_encoding)
		return false;
	while (*accept_encoding) {
		size_t blanks = strspn(accept_encoding, " \t,"), length, name;

		accept_encoding += blanks;
		length = strcspn(accept_encoding, ",");
		name = strcspn(accept_encoding, "; \t,");
		if (name == 1 && *accept_encoding == '*')
			any = field_quality(accept_encoding, length);
		if ((name == 4 && strncasecmp(accept_encoding, "gzip", 4) == 0) ||
		    (name == 6 && strncasecmp(accept_encoding, "x-gzip", 6) == 0))
			gzip = field_quality(accept_encoding, length);
		accept_encoding += length;
	}
	return gzip >= 0 ? gzip > 0 : any > 0;
}

bool coding_varies(const struct request *request)
{
	return request->route && request->route->port == ROUTE_API &&
	       request->server->config->compress_bytes > 0;
}

/*
 * The length of a coded answer tells of its content. Where a browser sends somebody's identity by
 * itself, a page of somebody else can have answers made that hold both what it chose and what it
 * may not see, and learn that by their lengths (BREACH): such answers stay as they are. A key in a
 * header is sent by programs that mean it.
 */
static bool has_ambient_identity(const struct request *request)
{
	return strncmp(request->caller, "identity:", 9) == 0 || request_header(request, "Cookie");
}

const char *coding_choose(const struct request *request)
{
	return coding_varies(request) &&
			       coding_takes_gzip(request_list(request, "Accept-Encoding")) &&
			       !has_ambient_identity(request)
		       ? "gzip"
		       : "";
}

/* In a buffer of the most that it can take; NULL when memory is out. */
static char *deflated(z_stream *stream, const char *text, size_t length, size_t *coded)
{
	size_t most = deflateBound(stream, length);
	char *out = malloc(most);
	bool is_done;

	if (!out)
		return NULL;
	stream->next_in = (Bytef *)(uintptr_t)text;
	stream->avail_in = (uInt)length;
	stream->next_out = (Bytef *)out;
	stream->avail_out = (uInt)most;
	is_done = deflate(stream, Z_FINISH) == Z_STREAM_END;
	*coded = most - stream->avail_out;
	deflateReset(stream);
	if (is_done)
		return out;
	free(out);
	return NULL;
}

/* Documents never change: each is coded once, as well as can be. */
static const char *coded_document(const char *text, size_t length, size_t *coded)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct {
		const char *text;
		char *bytes;
		size_t length;
	} documents[STATIC_MAX];
	const char *found = NULL;
	z_stream stream = {0};
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < STATIC_MAX && documents[i].text && documents[i].text != text; i++)
		;
	if (i < STATIC_MAX && !documents[i].text &&
	    deflateInit2(&stream, LEVEL_STATIC, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) == Z_OK) {
		documents[i].bytes = deflated(&stream, text, length, &documents[i].length);
		documents[i].text = documents[i].bytes ? text : NULL;
		deflateEnd(&stream);
	}
	if (i < STATIC_MAX && documents[i].text) {
		found = documents[i].bytes;
		*coded = documents[i].length;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static bool is_text(const char *content_type)
{
	return strncmp(content_type, "text/", 5) == 0 ||
	       strncmp(content_type, "application/json", 16) == 0 ||
	       strncmp(content_type, "application/yaml", 16) == 0;
}

struct kept_code {
	size_t length;
	char bytes[];
};

/* A copy, the caller's to free(); NULL when there is none. */
static char *find_kept(struct memo *memo, const struct memo_key *key, size_t *length)
{
	struct memo_item *item = memo ? memo_find(memo, key) : NULL;
	const struct kept_code *kept = item ? memo_value(item) : NULL;
	char *copy = kept ? malloc(kept->length) : NULL;

	if (copy) {
		*length = kept->length;
		memcpy(copy, kept->bytes, kept->length);
	}
	if (item)
		memo_release(memo, item);
	return copy;
}

static void keep(struct memo *memo, const struct memo_key *key, const char *bytes, size_t length)
{
	struct kept_code *kept = memo && bytes ? malloc(sizeof(*kept) + length) : NULL;
	struct memo_item *item;

	if (!kept)
		return;
	kept->length = length;
	memcpy(kept->bytes, bytes, length);
	item = memo_add(memo, key, kept, sizeof(*kept) + length);
	if (item)
		memo_release(memo, item);
}

static bool code(struct coder *coder, struct memo *memo, struct reply *reply)
{
	struct memo_key key;
	size_t length = 0;
	char *bytes;

	if (reply->static_body) {
		const char *coded = coded_document(reply->static_body, reply->length, &length);

		if (!coded)
			return false;
		reply->static_body = coded;
		reply->length = length;
		return true;
	}
	key = memo_key(reply->body, reply->length);
	bytes = find_kept(memo, &key, &length);
	if (!bytes) {
		bytes = deflated(&coder->stream, reply->body, reply->length, &length);
		keep(memo, &key, bytes, length);
	}
	if (!bytes)
		return false;
	free(reply->body);
	reply->body = bytes;
	reply->length = length;
	return true;
}

void coding_apply(struct coder *coder, const struct request *request, struct reply *reply)
{
	const char *type = reply->content_type ? reply->content_type : "application/json";

	if (!*request->coding || (!reply->body && !reply->static_body) ||
	    (reply->status && reply->status != 200) || !is_text(type) ||
	    reply->length < (size_t)request->server->config->compress_bytes || !coder)
		return;
	if (code(coder, request->server->coded, reply))
		reply_header(reply, "Content-Encoding", request->coding);
}
