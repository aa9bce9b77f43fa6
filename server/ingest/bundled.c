/* Bundled: see bundled.h. */
#include "server/ingest/bundled.h"

#include "server/clock.h"
#include "server/ingest/discount.h"
#include "server/log.h"

#define BUNDLED_BYTES_MAX ((size_t)64 << 20)

bool bundled_read(struct arena *arena, struct price_list **out, struct error *error)
{
	const struct price_list_options options = {
		.source = STORE_BUNDLED, .tier = "", .now_us = clock_wall_us()};
	size_t length;
	const char *csv = bundled_csv(&length);

	return price_list_read(csv, length, &options, arena, out, error);
}

static bool apply_provider(const struct config *config, struct store *store,
			   struct price_list *list, struct bundled_outcome *out,
			   struct error *error)
{
	const char *discount = config_provider(config, list->provider, "DISCOUNT");
	const struct store_refresh refresh = {
		.provider = list->provider,
		.source = STORE_BUNDLED,
		.offers = list->feed.offers,
		.offers_count = list->feed.count,
		.observed_at_us = list->feed.now_us,
		.unmapped = list->report.unmapped_list,
		.unmapped_count = list->report.unmapped_count,
	};
	struct store_outcome outcome;
	bool has_live;

	if (!store_has_live(store, list->provider, &has_live, error))
		return false;
	if (has_live)
		return true;
	if (discount)
		discount_apply(discount, &list->feed);
	if (!store_apply(store, &refresh, &outcome, error))
		return false;
	out->providers++;
	out->rows += list->report.accepted;
	out->rejected += list->report.rejected;
	out->changed += outcome.inserted + outcome.changed + outcome.withdrawn;
	if (list->report.rejected)
		log_event(LOG_WARNING, "bundled rows refused", "provider", list->provider, "first",
			  list->feed.first_rejection, NULL);
	return true;
}

bool bundled_apply(const struct config *config, struct store *store, struct bundled_outcome *out,
		   struct error *error)
{
	struct price_list *list;
	struct arena arena;
	bool ok;

	*out = (struct bundled_outcome){0};
	arena_init(&arena, BUNDLED_BYTES_MAX);
	ok = bundled_read(&arena, &list, error);
	for (; ok && list; list = list->next)
		ok = apply_provider(config, store, list, out, error);
	arena_release(&arena);
	return ok;
}
