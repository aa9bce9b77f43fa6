/*
 * Nebius: a service account signs a claim of a minute with its private key and gets a token of some
 * hours for it (RFC 8693, RFC 7523). Claims and audience are those of Nebius's own Go SDK
 * (auth/exchangable.go, 2026-08).
 */
#include "server/ingest/providers/jwt.h"
#include "server/ingest/providers/nebius.h"
#include "server/ingest/providers/payload.h"

#include <inttypes.h>
#include <string.h>

#define SERVICE "tokens.iam.api.nebius.cloud"
#define AUDIENCE "token-service.iam.new.nebiuscloud.net"
#define CLAIM_SECONDS 60
#define US_PER_SECOND INT64_C(1000000)

enum { GRANT_TYPE = 1, REQUESTED_TYPE = 2, SUBJECT_TOKEN = 3, SUBJECT_TYPE = 4 };
enum { ACCESS_TOKEN = 1 };

bool nebius_has_account(const struct feed *feed)
{
	return feed->key && feed->key[strspn(feed->key, " \r\n\t")] == '{';
}

/* Ids stand in a JSON text: nothing that would need quoting there. */
static bool is_id(const char *text)
{
	return *text && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789-_.") == strlen(text);
}

static const char *sign(struct feed *feed, const json_t *credentials)
{
	const char *key = payload_text(credentials, "kid");
	const char *account = payload_text(credentials, "sub");
	const int64_t now = feed->now_us / US_PER_SECOND;
	const char *header, *claims;

	if (!is_id(key) || !is_id(account))
		return NULL;
	header = arena_printf(feed->arena, "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"%s\"}",
			      key);
	claims = arena_printf(feed->arena,
			      "{\"iss\":\"%s\",\"sub\":\"%s\",\"aud\":[\"" AUDIENCE "\"],"
			      "\"iat\":%" PRId64 ",\"exp\":%" PRId64 "}",
			      account, account, now, now + CLAIM_SECONDS);
	return header && claims ? jwt_sign(feed->arena, header, claims,
					   payload_text(credentials, "private-key"))
				: NULL;
}

bool nebius_token_request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	const struct fetch_response file = {.body = feed->key, .length = strlen(feed->key)};
	struct protobuf_writer message = {.arena = feed->arena};
	struct error unreadable; /* it would repeat a part of the secret */
	const char *claim;
	json_t *root;

	error_init(&unreadable, NULL);
	root = payload_parse(&file, &unreadable);
	claim = sign(feed, json_object_get(root, "subject-credentials"));
	json_decref(root);
	if (!claim)
		return error_set(error, ERROR_FEED,
				 "GPUPICK_NEBIUS_KEY holds no service account's credentials with "
				 "kid, sub and an RSA private-key");
	protobuf_put_text(&message, GRANT_TYPE, "urn:ietf:params:oauth:grant-type:token-exchange");
	protobuf_put_text(&message, REQUESTED_TYPE,
			  "urn:ietf:params:oauth:token-type:access_token");
	protobuf_put_text(&message, SUBJECT_TOKEN, claim);
	protobuf_put_text(&message, SUBJECT_TYPE, "urn:ietf:params:oauth:token-type:jwt");
	nebius_call(feed, SERVICE, "nebius.iam.v1.TokenExchangeService/Exchange", &message, out);
	out->label = "token";
	out->is_secret = true;
	return true;
}

bool nebius_take_token(struct feed *feed, struct protobuf message, struct error *error)
{
	const char *token = protobuf_text(message, ACCESS_TOKEN, feed->arena);

	feed->is_exhausted = feed->is_exhausted || !token;
	if (!token || !*token)
		return error_set(error, ERROR_FEED, "no access token is told");
	feed->key = token;
	return true;
}
