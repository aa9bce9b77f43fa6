/* Render: which prices an answer was made from, and how old they are. */
#include "server/api/render.h"

void render_catalogue(struct writer *writer, const struct catalogue *catalogue, int64_t now_us)
{
	uint32_t i;

	writer_begin_object(writer);
	render_integer(writer, "version", catalogue->version);
	render_text(writer, "epoch", catalogue->epoch);
	render_time(writer, "as_of", catalogue->as_of_us);
	render_age(writer, "age_seconds", catalogue->as_of_us, now_us);
	render_integer(writer, "offers", catalogue->offers_count);
	render_integer(writer, "bundled_offers", catalogue->bundled_offers);
	render_time(writer, "oldest_observed_at", catalogue->oldest_observed_us);
	render_time(writer, "newest_observed_at", catalogue->newest_observed_us);
	writer_key(writer, "stale_providers");
	writer_begin_array(writer);
	for (i = 0; i < catalogue->stale_providers_count; i++)
		writer_string(writer, catalogue->stale_providers[i]);
	writer_end_array(writer);
	writer_end_object(writer);
}
