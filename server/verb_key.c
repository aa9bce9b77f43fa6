/* gpupick key new|list|revoke: see verb_key.h. A key is printed once, when it is made. */
#include "server/verb_key.h"

#include "server/clock.h"
#include "server/key_file.h"
#include "server/log.h"
#include "server/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2
#define ARENA_BYTES ((size_t)64 << 20)
#define US_PER_DAY (86400 * US_PER_SECOND)
#define DAYS_MOST 36500

struct order {
	const char *what;    /* "new", ... */
	const char *operand; /* name or id; NULL = none */
	const char *file;    /* NULL: the database */
	const char *scopes, *expires;
	const struct config *config;
};

static int fail(const char *detail)
{
	fprintf(stderr, "gpupick key: %s\n", detail);
	return EXIT_FAILURE;
}

static int usage(const char *detail)
{
	fprintf(stderr,
		"gpupick key: %s\n"
		"usage: gpupick key new NAME [--scopes read,private_prices,admin] [--expires "
		"90d|DATE]\n"
		"       gpupick key list\n"
		"       gpupick key revoke ID\n"
		"each with --file PATH instead of the database: as root, a file stays its owner's, "
		"and a new one (mode 0600) belongs to the owner of its folder\n",
		detail);
	return EXIT_USAGE;
}

/* --- where keys are kept --- */

static bool read_database(const struct order *order, struct key_list *out, struct error *error)
{
	struct store *store = store_new(order->config->database_url, "gpupick key");
	int64_t version = -1;
	struct arena arena;
	struct key *keys;
	bool done;

	arena_init(&arena, ARENA_BYTES);
	done = store && store_read_keys(store, &version, &arena, &keys, &out->count, error);
	out->keys = done ? malloc((out->count + 1) * sizeof(*out->keys)) : NULL;
	if (out->keys && out->count)
		memcpy(out->keys, keys, out->count * sizeof(*out->keys));
	if (!out->keys && !error_is_set(error))
		error_set(error, ERROR_INTERNAL, "out of memory");
	arena_release(&arena);
	store_free(store);
	return out->keys;
}

/* A file that is not there yet is an empty one. */
static bool read_file(const char *path, struct key_list *out, struct error *error)
{
	if (key_file_read(path, out, error))
		return true;
	if (error->code != ERROR_NOT_FOUND)
		return false;
	error_init(error, NULL);
	return true;
}

static bool add_to_file(const char *path, const struct key *key, struct error *error)
{
	struct key_list list;
	struct key *grown;
	bool done;

	if (!read_file(path, &list, error))
		return false;
	grown = realloc(list.keys, (list.count + 1) * sizeof(*grown));
	if (grown) {
		list.keys = grown;
		list.keys[list.count++] = *key;
	}
	done = grown ? key_file_write(path, &list, error)
		     : error_set(error, ERROR_INTERNAL, "out of memory");
	key_list_free(&list);
	return done;
}

static bool add_to_database(const struct config *config, const struct key *key, struct error *error)
{
	struct store *store = store_new(config->database_url, "gpupick key");
	bool done = store ? store_add_key(store, key, error)
			  : error_set(error, ERROR_INTERNAL, "out of memory");

	store_free(store);
	return done;
}

/* --- new --- */

/* "90d", or a time of RFC 3339. */
static bool parse_expiry(const char *text, int64_t now_us, int64_t *out)
{
	char *end;
	long days = strtol(text, &end, 10);

	if (end != text && strcmp(end, "d") == 0 && days > 0 && days <= DAYS_MOST)
		*out = now_us + days * US_PER_DAY;
	else
		*out = clock_parse(text);
	return *out > now_us;
}

static int make(const struct order *order)
{
	struct key key = {.created_us = clock_wall_us()};
	char text[KEY_TEXT], expires[CLOCK_TEXT], scopes[SCOPES_TEXT];
	struct error error;
	bool done;

	error_init(&error, NULL);
	if (!key_name_is_valid(order->operand))
		return usage("a name has 1 to 100 characters, without control characters");
	if (!scopes_parse(order->scopes, &key.scopes, &error))
		return usage(error.detail);
	if (order->expires && !parse_expiry(order->expires, key.created_us, &key.expires_us))
		return usage("--expires takes days (90d) or a time to come (2027-01-31)");
	memcpy(key.name, order->operand, strlen(order->operand) + 1);
	if (!key_generate(text) || !key_parse(text, key.id))
		return fail("the system gives no randomness");
	key_hash(text, key.hash);
	done = order->file ? add_to_file(order->file, &key, &error)
			   : add_to_database(order->config, &key, &error);
	if (!done)
		return fail(error.detail);
	scopes_format(key.scopes, scopes);
	clock_format(key.expires_us, expires);
	puts(text);
	fprintf(stderr, "key %s (%s), scopes: %s, expires: %s. It is not shown again.\n", key.id,
		key.name, *scopes ? scopes : "none", key.expires_us ? expires : "never");
	return EXIT_SUCCESS;
}

/* --- list, revoke --- */

static const char *state_of(const struct key *key, int64_t now_us)
{
	if (key->revoked_us)
		return "revoked";
	return key->expires_us && key->expires_us <= now_us ? "expired" : "good";
}

static int list(const struct order *order)
{
	struct key_list keys = {.count = 0};
	int64_t now_us = clock_wall_us();
	struct error error;

	error_init(&error, NULL);
	if (!(order->file ? key_file_read(order->file, &keys, &error)
			  : read_database(order, &keys, &error)))
		return fail(error.detail);
	printf("%-10s  %-7s  %-26s  %-20s  %-20s  %s\n", "ID", "STATE", "SCOPES", "CREATED",
	       "EXPIRES", "NAME");
	for (size_t i = 0; i < keys.count; i++) {
		const struct key *key = &keys.keys[i];
		char scopes[SCOPES_TEXT], created[CLOCK_TEXT], expires[CLOCK_TEXT];

		scopes_format(key->scopes, scopes);
		clock_format(key->created_us / US_PER_SECOND * US_PER_SECOND, created);
		clock_format(key->expires_us / US_PER_SECOND * US_PER_SECOND, expires);
		printf("%-10s  %-7s  %-26s  %-20s  %-20s  %s\n", key->id, state_of(key, now_us),
		       *scopes ? scopes : "-", created, key->expires_us ? expires : "never",
		       key->name);
	}
	key_list_free(&keys);
	return EXIT_SUCCESS;
}

static bool revoke_in_file(const char *path, const char *id, bool *is_there, struct error *error)
{
	struct key_list keys;
	bool done;

	if (!key_file_read(path, &keys, error))
		return false;
	*is_there = false;
	for (size_t i = 0; i < keys.count; i++) {
		if (strcmp(keys.keys[i].id, id) != 0)
			continue;
		keys.keys[i].revoked_us = clock_wall_us(); /* is left out */
		*is_there = true;
	}
	done = !*is_there || key_file_write(path, &keys, error);
	key_list_free(&keys);
	return done;
}

/* Who pastes a whole key means its id. */
static const char *id_of(const char *operand, char id[KEY_ID_TEXT])
{
	if (key_parse(operand, id))
		return id;
	return operand;
}

static int revoke(const struct order *order)
{
	char buffer[KEY_ID_TEXT];
	const char *id = id_of(order->operand, buffer);
	bool is_there = false, done;
	struct error error;

	error_init(&error, NULL);
	if (order->file) {
		done = revoke_in_file(order->file, id, &is_there, &error);
	} else {
		struct store *store = store_new(order->config->database_url, "gpupick key");

		done = store ? store_revoke_key(store, id, &is_there, &error)
			     : error_set(&error, ERROR_INTERNAL, "out of memory");
		store_free(store);
	}
	if (!done)
		return fail(error.detail);
	if (!is_there)
		return fail("there is no key with this id");
	fprintf(stderr, "key %s is revoked\n", id);
	return EXIT_SUCCESS;
}

/* --- the command line --- */

/* "--name VALUE" or "--name=VALUE" at argv[*at]; NULL: something else. */
static const char *take(const char *name, int argc, char **argv, int *at)
{
	size_t length = strlen(name);

	if (strncmp(argv[*at], name, length) != 0)
		return NULL;
	if (argv[*at][length] == '=')
		return argv[*at] + length + 1;
	return !argv[*at][length] && *at + 1 < argc ? argv[++*at] : NULL;
}

static bool read_order(struct order *order, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const char *value;

		if ((value = take("--file", argc, argv, &i)))
			order->file = value;
		else if ((value = take("--scopes", argc, argv, &i)))
			order->scopes = value;
		else if ((value = take("--expires", argc, argv, &i)))
			order->expires = value;
		else if (strncmp(argv[i], "--", 2) == 0)
			return false;
		else if (!order->what)
			order->what = argv[i];
		else if (!order->operand)
			order->operand = argv[i];
		else
			return false;
	}
	return order->what;
}

int verb_key(const struct config *config, int argc, char **argv)
{
	struct order order = {.config = config};
	bool is_new;

	log_configure(config->log_level);
	if (!read_order(&order, argc, argv))
		return usage("unknown, missing or incomplete operand");
	is_new = strcmp(order.what, "new") == 0;
	if (!is_new && (order.scopes || order.expires))
		return usage("--scopes and --expires are for a new key");
	if (!order.file && !*config->database_url && *config->api_keys)
		order.file = config->api_keys;
	if (!order.file && !*config->database_url)
		return usage("neither GPUPICK_DATABASE_URL nor GPUPICK_API_KEYS nor --file says "
			     "where keys are kept");
	if (!order.scopes)
		order.scopes = "read";
	if (is_new)
		return order.operand ? make(&order) : usage("a new key needs a name");
	if (strcmp(order.what, "list") == 0 && !order.operand)
		return list(&order);
	if (strcmp(order.what, "revoke") == 0 && order.operand)
		return revoke(&order);
	return usage("unknown or incomplete order");
}
