/* Render: a priced instance and its links. */
#include "server/api/offer_fields.h"
#include "server/api/render.h"

#include <stdlib.h>

void render_offer(struct writer *writer, const struct offer *offer, int64_t now_us)
{
	static const struct offer_fields all = {.count = 0};

	offer_fields_render(writer, &all, offer, now_us);
}

/* Written aside, so that its places count from its own start. */
static const struct fragment *make_fragment(const struct render_source *source, uint32_t place,
					    const struct offer *offer)
{
	const struct fragment *fragment;
	struct writer aside;
	size_t length;
	char *text;

	writer_init(&aside, ANSWER_BYTES_MAX);
	writer_note_ages(&aside);
	render_offer(&aside, offer, source->now_us);
	text = writer_take(&aside, &length);
	fragment = text ? fragments_add(source->fragments, place, &aside, text, length) : NULL;
	free(text);
	writer_release(&aside);
	return fragment;
}

void render_sourced_offer(struct writer *writer, const struct render_source *source, uint32_t place)
{
	const struct fragment *fragment =
		source->fragments ? fragments_find(source->fragments, place) : NULL;
	struct offer offer;

	if (!fragment) {
		catalogue_read(source->catalogue, place, &offer);
		if (source->fragments)
			fragment = make_fragment(source, place, &offer);
	}
	if (fragment)
		fragment_write(fragment, writer, source->now_us);
	else
		render_offer(writer, &offer, source->now_us);
}

void render_fabric(struct writer *writer, const struct fabric *fabric)
{
	writer_begin_object(writer);
	render_text(writer, "node_link", names_text(&node_link_names, (int)fabric->node_link));
	render_known(writer, "node_gb_per_second", fabric->node_bytes_per_second / GB, 3);
	render_known(writer, "domain_gpus", fabric->domain_gpus, 0);
	render_text(writer, "cluster_link",
		    names_text(&cluster_link_names, (int)fabric->cluster_link));
	render_known(writer, "cluster_gb_per_second", fabric->cluster_bytes_per_second / GB, 3);
	writer_end_object(writer);
}
