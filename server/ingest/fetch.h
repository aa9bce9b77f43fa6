/*
 * Fetch: the only user of libcurl. One request in, one bounded answer out: bytes are counted after
 * decoding, so that a compressed bomb stops at the limit; https only unless the base URL was set by
 * configuration; resolved private addresses are refused likewise; redirects are followed only by a
 * plain GET that carries no credential. Proxies of the environment are not used: through one, the
 * check of the resolved address would see the proxy only.
 */
#ifndef SERVER_INGEST_FETCH_H
#define SERVER_INGEST_FETCH_H

#include "core/arena.h"
#include "core/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FETCH_HEADERS_MAX 8

struct fetch_request {
	int page;				/* the provider's own number for what this asks */
	const char *method;			/* "GET" or "POST" */
	const char *url;			/* complete */
	const char *headers[FETCH_HEADERS_MAX]; /* "Name: value" */
	int headers_count;
	const char *body;   /* POST; NULL otherwise */
	size_t body_length; /* 0 = up to its end; for bodies that hold zero bytes */
	const char *label;  /* file name stem for --record: "plans-1" */
	const char
		*signature; /* "aws:amz:us-east-1:ec2": signed by SigV4 with credentials; or NULL */
	const char *credentials; /* "id:secret" */
	bool is_secret;		 /* the answer holds a credential: --record leaves it out */
	bool is_optional;	 /* a final 4xx answer is skipped, not a failure of the feed */
	bool is_dispensable;	 /* tried once; whatever goes wrong, it is parsed with status 0 */
	bool is_one_of_many;	 /* so too, but only after all attempts; with the reason */
	bool is_streamed;	 /* too large to keep: handed over as it comes, see provider.h */
	bool is_grpc; /* body and answer are one message each; HTTP/2. A call's own status is told
			 as the HTTP status that says the same */
};

struct fetch_response {
	unsigned status;
	const char *body; /* terminated */
	size_t length;
	const char *content_type;   /* "" when none */
	const char *link;	    /* Link header, "" when none */
	double retry_after_seconds; /* -1 when none */
	const char *reason;	    /* why a gRPC call failed, in the server's words, or "" */
};

enum fetch_failure {
	FETCH_OK,
	FETCH_DNS,
	FETCH_CONNECT,
	FETCH_TLS,
	FETCH_TIMEOUT,
	FETCH_TOO_LARGE,
	FETCH_TRUNCATED,
	FETCH_REFUSED,	/* private address, plain http or a bad redirect */
	FETCH_STOPPED,	/* the process is stopping */
	FETCH_UNWANTED, /* no answer to what was asked: the sink would take no more, or no gRPC */
	FETCH_OTHER,
	FETCH_FAILURES
};

extern const char *const fetch_failure_names[FETCH_FAILURES];

/* Takes the decoded bytes of an answer with status 200 as they come; false ends the transfer. */
typedef bool fetch_sink(void *closure, const char *bytes, size_t length);

struct fetch_options {
	size_t body_max;
	fetch_sink *sink; /* NULL = the body is kept and handed over whole */
	void *sink_closure;
	double timeout_seconds, connect_timeout_seconds;
	bool allow_private;	 /* the base URL was set by configuration */
	const atomic_bool *stop; /* looked at every second or so; may be NULL */
};

struct fetch; /* one handle, reused for all requests of a provider */

/* Once, before any thread starts. */
bool fetch_global_init(void);

struct fetch *fetch_new(void);
void fetch_free(struct fetch *fetch);

/* One attempt; retries are ingest's business. The response lives in `arena`. */
enum fetch_failure fetch_perform(struct fetch *fetch, const struct fetch_request *request,
				 const struct fetch_options *options, struct arena *arena,
				 struct fetch_response *out, struct error *error);

#endif
