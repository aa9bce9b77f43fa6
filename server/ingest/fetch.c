/* Fetch: libcurl, held to limits of bytes, time and addresses: see fetch.h. */
#include "server/ingest/fetch.h"

#include "server/ingest/fetch_parts.h"
#include "server/ingest/private_address.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define REDIRECTS_MAX 3
#define KEEP_BUFFER_BYTES ((size_t)1 << 20)
#define FIRST_BUFFER_BYTES ((size_t)64 << 10)

const char *const fetch_failure_names[FETCH_FAILURES] = {
	[FETCH_OK] = "ok",
	[FETCH_DNS] = "dns",
	[FETCH_CONNECT] = "connect",
	[FETCH_TLS] = "tls",
	[FETCH_TIMEOUT] = "timeout",
	[FETCH_TOO_LARGE] = "too_large",
	[FETCH_TRUNCATED] = "truncated",
	[FETCH_REFUSED] = "refused",
	[FETCH_STOPPED] = "stopped",
	[FETCH_UNWANTED] = "unwanted",
	[FETCH_OTHER] = "other",
};

struct fetch {
	CURL *curl;
	char *buffer;
	size_t length, capacity; /* decoded bytes so far, in the buffer or through the sink */
	const struct fetch_options *options; /* of the request that is running */
	bool is_streaming; /* set by the request and the status, at the first bytes */
	bool is_too_large, is_out_of_memory, is_private, is_unwanted;
	char message[CURL_ERROR_SIZE];
};

bool fetch_global_init(void)
{
	return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

struct fetch *fetch_new(void)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));

	if (!fetch)
		return NULL;
	fetch->curl = curl_easy_init();
	if (!fetch->curl) {
		free(fetch);
		return NULL;
	}
	return fetch;
}

void fetch_free(struct fetch *fetch)
{
	if (!fetch)
		return;
	curl_easy_cleanup(fetch->curl);
	free(fetch->buffer);
	free(fetch);
}

static bool is_for_sink(const struct fetch *fetch)
{
	long status = 0;

	return fetch->options->sink &&
	       curl_easy_getinfo(fetch->curl, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK &&
	       status == 200;
}

/* curl hands over decoded bytes here: the only place where a compressed bomb can be stopped. */
static size_t fetch_write(char *bytes, size_t size, size_t count, void *closure)
{
	struct fetch *fetch = closure;
	size_t more = size * count;

	if (more > fetch->options->body_max - fetch->length) {
		fetch->is_too_large = true;
		return 0;
	}
	if (!fetch->length)
		fetch->is_streaming = is_for_sink(fetch);
	if (fetch->is_streaming) {
		fetch->length += more;
		fetch->is_unwanted =
			!fetch->options->sink(fetch->options->sink_closure, bytes, more);
		return fetch->is_unwanted ? 0 : more;
	}
	if (fetch->length + more + 1 > fetch->capacity) {
		size_t capacity = fetch->capacity ? fetch->capacity : FIRST_BUFFER_BYTES;
		char *grown;

		while (capacity < fetch->length + more + 1)
			capacity *= 2;
		grown = realloc(fetch->buffer, capacity);
		if (!grown) {
			fetch->is_out_of_memory = true;
			return 0;
		}
		fetch->buffer = grown;
		fetch->capacity = capacity;
	}
	memcpy(fetch->buffer + fetch->length, bytes, more);
	fetch->length += more;
	return more;
}

/* After name resolution, for every hop: neither a name nor a redirect reaches an inner address. */
static curl_socket_t fetch_open(void *closure, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct fetch *fetch = closure;

	(void)purpose;
	if (!fetch->options->allow_private &&
	    is_private_address(&address->addr, address->addrlen)) {
		fetch->is_private = true;
		return CURL_SOCKET_BAD;
	}
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static int fetch_progress(void *closure, curl_off_t total, curl_off_t now, curl_off_t upload_total,
			  curl_off_t upload_now)
{
	const struct fetch *fetch = closure;

	(void)total;
	(void)now;
	(void)upload_total;
	(void)upload_now;
	return fetch->options->stop && atomic_load(fetch->options->stop);
}

static bool is_harmless(const char *header)
{
	return !strncasecmp(header, "accept:", 7) || !strncasecmp(header, "content-type:", 13);
}

/* A header beyond the two that every request has may be a credential, whatever its name. */
static bool may_redirect(const struct fetch_request *request)
{
	if (strcmp(request->method, "GET") != 0 || request->signature)
		return false;
	for (int i = 0; i < request->headers_count; i++)
		if (!is_harmless(request->headers[i]))
			return false;
	return true;
}

static bool set_long(CURL *curl, CURLoption option, long value)
{
	return curl_easy_setopt(curl, option, value) == CURLE_OK;
}

static bool set_text(CURL *curl, CURLoption option, const char *value)
{
	return curl_easy_setopt(curl, option, value) == CURLE_OK;
}

static long milliseconds(double seconds)
{
	return seconds > 0.001 && seconds < 86400 ? (long)(seconds * 1000) : 1;
}

static bool set_limits(CURL *curl, const struct fetch_options *options)
{
	const char *protocols = options->allow_private ? "https,http" : "https";
	double quiet_seconds = options->timeout_seconds / 2;

	return set_text(curl, CURLOPT_PROTOCOLS_STR, protocols) &&
	       set_text(curl, CURLOPT_REDIR_PROTOCOLS_STR, protocols) &&
	       set_long(curl, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) &&
	       set_text(curl, CURLOPT_PROXY, "") &&
	       set_long(curl, CURLOPT_TIMEOUT_MS, milliseconds(options->timeout_seconds)) &&
	       set_long(curl, CURLOPT_CONNECTTIMEOUT_MS,
			milliseconds(options->connect_timeout_seconds)) &&
	       set_long(curl, CURLOPT_LOW_SPEED_LIMIT, 100) &&
	       set_long(curl, CURLOPT_LOW_SPEED_TIME,
			quiet_seconds < 1 ? 1 : (quiet_seconds > 20 ? 20 : (long)quiet_seconds));
}

static bool set_callbacks(struct fetch *fetch)
{
	CURL *curl = fetch->curl;

	return curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, fetch_write) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_WRITEDATA, fetch) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, fetch_open) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, fetch) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, fetch_progress) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_XFERINFODATA, fetch) == CURLE_OK &&
	       set_long(curl, CURLOPT_NOPROGRESS, 0) && set_long(curl, CURLOPT_NOSIGNAL, 1) &&
	       curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, fetch->message) == CURLE_OK;
}

/* HTTP/2 alone has what a gRPC call ends with. Without TLS nothing negotiates it, and libcurl 7.88
 * greets anew on a connection that it uses again, which servers take for nonsense. */
static bool set_http2(CURL *curl, const char *url)
{
	if (strncmp(url, "https:", 6) == 0)
		return set_long(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
	return set_long(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE) &&
	       set_long(curl, CURLOPT_FORBID_REUSE, 1);
}

static bool set_body(CURL *curl, const struct fetch_request *request, struct arena *arena)
{
	const char *body = request->body ? request->body : "";
	size_t length = request->body_length ? request->body_length : strlen(body);

	if (request->is_grpc && !(body = fetch_frame(body, &length, arena)))
		return false;
	return set_long(curl, CURLOPT_POST, 1) &&
	       curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length) ==
		       CURLE_OK &&
	       set_text(curl, CURLOPT_POSTFIELDS, body);
}

static bool set_request(CURL *curl, const struct fetch_request *request, struct curl_slist *headers,
			struct arena *arena)
{
	bool redirects = may_redirect(request);

	if (!set_text(curl, CURLOPT_URL, request->url) ||
	    !set_text(curl, CURLOPT_USERAGENT, "gpupick/" GPUPICK_VERSION) ||
	    !(request->is_grpc ? set_http2(curl, request->url)
			       : set_text(curl, CURLOPT_ACCEPT_ENCODING, "gzip, deflate")) ||
	    !set_long(curl, CURLOPT_FOLLOWLOCATION, redirects) ||
	    !set_long(curl, CURLOPT_MAXREDIRS, REDIRECTS_MAX) ||
	    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers) != CURLE_OK)
		return false;
	if (request->signature && (!set_text(curl, CURLOPT_AWS_SIGV4, request->signature) ||
				   !set_text(curl, CURLOPT_USERPWD, request->credentials)))
		return false;
	if (strcmp(request->method, "POST") != 0)
		return set_long(curl, CURLOPT_HTTPGET, 1);
	return set_body(curl, request, arena);
}

static enum fetch_failure classify(const struct fetch *fetch, CURLcode code)
{
	if (fetch->is_private)
		return FETCH_REFUSED;
	if (fetch->is_too_large)
		return FETCH_TOO_LARGE;
	if (fetch->is_unwanted)
		return FETCH_UNWANTED;
	switch ((int)code) {
	case CURLE_OK:
		return FETCH_OK;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return FETCH_DNS;
	case CURLE_COULDNT_CONNECT:
		return FETCH_CONNECT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		return FETCH_TLS;
	case CURLE_OPERATION_TIMEDOUT:
		return FETCH_TIMEOUT;
	case CURLE_PARTIAL_FILE:
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_BAD_CONTENT_ENCODING:
	case CURLE_HTTP2_STREAM:
		return FETCH_TRUNCATED;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
	case CURLE_TOO_MANY_REDIRECTS:
		return FETCH_REFUSED;
	case CURLE_ABORTED_BY_CALLBACK:
		return FETCH_STOPPED;
	default:
		return FETCH_OTHER;
	}
}

static enum fetch_failure report(struct fetch *fetch, const struct fetch_request *request,
				 CURLcode code, struct error *error)
{
	enum fetch_failure failure = classify(fetch, code);
	const char *text = fetch->message[0] ? fetch->message : curl_easy_strerror(code);

	if (fetch->is_private)
		text = "its name resolves to a private address";
	else if (fetch->is_out_of_memory)
		text = "no memory";
	if (failure == FETCH_UNWANTED)
		return failure;
	if (failure == FETCH_TOO_LARGE)
		error_set(error, ERROR_FEED, "%s: the answer is larger than %zu bytes when decoded",
			  request->label, fetch->options->body_max);
	else
		error_set(error, ERROR_FEED, "%s: %s: %s", request->label,
			  fetch_failure_names[failure], text);
	return failure;
}

enum fetch_failure fetch_perform(struct fetch *fetch, const struct fetch_request *request,
				 const struct fetch_options *options, struct arena *arena,
				 struct fetch_response *out, struct error *error)
{
	enum fetch_failure failure = FETCH_OTHER;
	struct curl_slist *headers = NULL;
	CURLcode code;

	*out = (struct fetch_response){.body = "", .content_type = "", .link = "", .reason = ""};
	curl_easy_reset(fetch->curl); /* keeps connections */
	fetch->options = options;
	fetch->length = 0;
	fetch->is_streaming = fetch->is_unwanted = false;
	fetch->is_too_large = fetch->is_out_of_memory = fetch->is_private = false;
	fetch->message[0] = '\0';
	for (int i = 0; i < request->headers_count; i++) {
		struct curl_slist *more = curl_slist_append(headers, request->headers[i]);

		if (!more) {
			error_set(error, ERROR_FEED, "%s: no memory", request->label);
			goto out;
		}
		headers = more;
	}
	if (!set_callbacks(fetch) || !set_limits(fetch->curl, options) ||
	    !set_request(fetch->curl, request, headers, arena)) {
		error_set(error, ERROR_FEED, "%s: the request cannot be made", request->label);
		goto out;
	}
	code = curl_easy_perform(fetch->curl);
	failure = code == CURLE_OK ? fetch_answer(fetch->curl, request,
						  fetch->is_streaming ? NULL : fetch->buffer,
						  fetch->length, arena, out, error)
				   : report(fetch, request, code, error);
out:
	curl_slist_free_all(headers);
	fetch->options = NULL;
	if (fetch->capacity > KEEP_BUFFER_BYTES) {
		free(fetch->buffer);
		fetch->buffer = NULL;
		fetch->capacity = 0;
	}
	return failure;
}
