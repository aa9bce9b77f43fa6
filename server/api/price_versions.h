/*
 * Price versions: since when what a filter takes has been as it is. It makes ETags that an
 * unrelated change leaves alone, and tells a waiting poller whether there is news.
 *
 * A version found here is never too low: after it nothing that the filter takes, or took, changed.
 * So equal versions of one epoch mean equal lists, on any replica. It may be higher than need be
 * where the catalogue does not tell what offers were before.
 */
#ifndef SERVER_API_PRICE_VERSIONS_H
#define SERVER_API_PRICE_VERSIONS_H

#include "server/api/price_filter.h"

struct price_versions;

/* Remembers what was found, by filter, so that the next catalogue's new changes alone are looked
 * through. Bounded; safe from any thread. NULL when memory is out. */
struct price_versions *price_versions_new(void);
void price_versions_free(struct price_versions *versions);

/* The parameters that choose and order, as one text: what is remembered goes by it. NULL when
 * memory is out. */
const char *price_versions_key(const struct request *request, const struct price_filter *filter,
			       struct arena *arena);

/* `versions` may be NULL, and `key` too: then nothing is remembered. */
int64_t price_versions_find(struct price_versions *versions, const char *key,
			    const struct price_filter *filter, const struct catalogue *catalogue);

/* Somebody will ask for news of the filter: makes that cheap. */
void price_versions_expect(struct price_versions *versions, const char *key,
			   const struct price_filter *filter, const struct catalogue *catalogue);

/* Is there a version after `after`? Whatever is remembered, older changes are never looked through:
 * thousands may ask this at once. */
bool price_versions_have_news(struct price_versions *versions, const char *key,
			      const struct price_filter *filter, const struct catalogue *catalogue,
			      int64_t after);

/*
 * Since which version the offer of a change has been what it is for the filter: its own version
 * while the filter takes it (`is_in`); else when it left, or a later version where that is not
 * known; 0 when the filter cannot have taken it since catalogue->changes_from.
 */
int64_t price_filter_since(const struct price_filter *filter, const struct catalogue *catalogue,
			   const struct offer_change *change, bool *is_in);

#endif
