/* Price versions: see price_versions.h. */
#include "server/api/price_versions.h"

#include "core/hash.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 2048
#define LOCKS 16
#define KEY_BYTES_MAX 400 /* longer ones are not remembered */
/* Changes looked through at once, a millisecond or so; past them a version that is too high does.
 */
#define WALK_MAX 20000

struct slot {
	char *key; /* NULL: free */
	char epoch[EPOCH_TEXT];
	bool is_public;
	int64_t seen; /* version of the catalogue that it was found in */
	int64_t version;
};

struct price_versions {
	pthread_mutex_t locks[LOCKS]; /* of the slots whose number ends in it */
	struct slot slots[SLOTS];
};

struct price_versions *price_versions_new(void)
{
	struct price_versions *versions = calloc(1, sizeof(*versions));

	for (int i = 0; i < LOCKS && versions; i++)
		pthread_mutex_init(&versions->locks[i], NULL);
	return versions;
}

void price_versions_free(struct price_versions *versions)
{
	if (!versions)
		return;
	for (int i = 0; i < SLOTS; i++)
		free(versions->slots[i].key);
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_destroy(&versions->locks[i]);
	free(versions);
}

static bool chooses(const char *name)
{
	static const char *const others[] = {"cursor", "limit", "format", "since",
					     "wait",   "sort",	"fields"};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strcmp(others[i], name) == 0)
			return false;
	return true;
}

const char *price_versions_key(const struct request *request, const struct price_filter *filter,
			       struct arena *arena)
{
	/* A family's name may take another raw spelling in another catalogue. */
	const char *key = arena_printf(arena, "%zu\x1f", filter->accelerators_count);

	for (int i = 0; i < request->queries && key; i++)
		if (chooses(request->query[i].name))
			key = arena_printf(arena, "%s%s=%s\x1f", key, request->query[i].name,
					   request->query[i].value);
	return key;
}

/* From the newest change back to what is known already. */
static int64_t walk(const struct price_filter *filter, const struct catalogue *catalogue,
		    int64_t seen, int64_t known)
{
	int64_t best = known > catalogue->changes_from ? known : catalogue->changes_from;
	uint32_t left = catalogue->changes_count, walked = 0;

	while (left-- > 0) {
		const struct offer_change *change = &catalogue->changes[left];
		int64_t version = catalogue->changes_from + change->since, since;
		bool is_in;

		if (version <= best || version <= seen)
			break;
		if (walked++ == WALK_MAX)
			return version;
		since = price_filter_since(filter, catalogue, change, &is_in);
		best = since > best ? since : best;
	}
	return best;
}

static bool is_of(const struct slot *slot, const char *key, const struct catalogue *catalogue)
{
	return slot->key && strcmp(slot->key, key) == 0 &&
	       slot->is_public == (catalogue == catalogue->public_view) &&
	       strcmp(slot->epoch, catalogue->epoch) == 0;
}

static void remember(struct slot *slot, const char *key, const struct catalogue *catalogue,
		     int64_t version)
{
	if (!is_of(slot, key, catalogue)) {
		char *copy = strdup(key);

		if (!copy)
			return;
		free(slot->key);
		*slot = (struct slot){.key = copy,
				      .is_public = catalogue == catalogue->public_view};
		memcpy(slot->epoch, catalogue->epoch, sizeof(slot->epoch));
	}
	slot->seen = catalogue->version;
	slot->version = version;
}

static bool is_kept(const struct price_versions *versions, const char *key)
{
	return versions && key && strlen(key) <= KEY_BYTES_MAX;
}

/* The version that was found last, in which catalogue (*seen); both 0 when none is remembered. */
static int64_t recall(struct price_versions *versions, const char *key,
		      const struct catalogue *catalogue, int64_t *seen)
{
	size_t at = hash_text(HASH_START, key) % SLOTS;
	const struct slot *slot = &versions->slots[at];
	int64_t version = 0;

	*seen = 0;
	pthread_mutex_lock(&versions->locks[at % LOCKS]);
	if (is_of(slot, key, catalogue) && slot->seen <= catalogue->version) {
		*seen = slot->seen;
		version = slot->version;
	}
	pthread_mutex_unlock(&versions->locks[at % LOCKS]);
	return version;
}

static void keep(struct price_versions *versions, const char *key,
		 const struct catalogue *catalogue, int64_t version)
{
	size_t at = hash_text(HASH_START, key) % SLOTS;
	struct slot *slot = &versions->slots[at];

	pthread_mutex_lock(&versions->locks[at % LOCKS]);
	if (!is_of(slot, key, catalogue) || slot->seen < catalogue->version)
		remember(slot, key, catalogue, version);
	pthread_mutex_unlock(&versions->locks[at % LOCKS]);
}

int64_t price_versions_find(struct price_versions *versions, const char *key,
			    const struct price_filter *filter, const struct catalogue *catalogue)
{
	int64_t seen, known, version;

	if (!is_kept(versions, key))
		return walk(filter, catalogue, 0, 0);
	known = recall(versions, key, catalogue, &seen);
	if (seen == catalogue->version)
		return known;
	version = walk(filter, catalogue, seen, known);
	keep(versions, key, catalogue, version);
	return version;
}

void price_versions_expect(struct price_versions *versions, const char *key,
			   const struct price_filter *filter, const struct catalogue *catalogue)
{
	if (is_kept(versions, key))
		price_versions_find(versions, key, filter, catalogue);
}

bool price_versions_have_news(struct price_versions *versions, const char *key,
			      const struct price_filter *filter, const struct catalogue *catalogue,
			      int64_t after)
{
	int64_t seen = 0;

	if (is_kept(versions, key))
		recall(versions, key, catalogue, &seen);
	if (seen >= after && seen > 0)
		return price_versions_find(versions, key, filter, catalogue) > after;
	return walk(filter, catalogue, after, after) > after;
}
