/* Render: a priced instance and its links. */
#include "server/api/price_filter.h"
#include "server/api/render.h"

static void render_card(struct writer *writer, const struct offer *offer)
{
	const struct accelerator *accelerator =
		offer->is_mapped ? accelerator_find(offer->accelerator) : NULL;

	render_text(writer, "accelerator", offer->accelerator);
	render_flag(writer, "accelerator_known", offer->is_mapped);
	render_number(writer, "count", offer->count_milli / (double)COUNT_MILLI_ONE, 3);
	render_known(writer, "memory_gb", price_memory_gb(offer), 3);
	render_known(writer, "memory_per_gpu_gb", accelerator ? accelerator->memory_gb : 0, 3);
}

static void render_price(struct writer *writer, const struct offer *offer)
{
	render_text(writer, "price_kind", names_text(&price_kind_names, (int)offer->price_kind));
	writer_key(writer, "term_months");
	if (offer->price_kind == PRICE_RESERVED && offer->term_months > 0)
		writer_integer(writer, offer->term_months);
	else
		writer_null(writer);
	render_micros(writer, "usd_per_hour", offer->price_micros);
	render_micros(writer, "usd_per_gpu_hour", price_per_gpu(offer));
	render_micros(writer, "upfront_usd",
		      offer->upfront_micros > 0 ? offer->upfront_micros : PRICE_UNKNOWN);
	render_text(writer, "price_basis", offer->price_basis);
	render_text(writer, "original_currency", offer->original_currency);
	render_text(writer, "original_amount", offer->original_amount);
}

void render_offer(struct writer *writer, const struct offer *offer, int64_t now_us)
{
	char id[OFFER_ID_TEXT];

	offer_id_format(offer->id, id);
	writer_begin_object(writer);
	render_text(writer, "id", id);
	render_text(writer, "provider", offer->provider);
	render_text(writer, "region", offer->region);
	render_text(writer, "zone", offer->zone);
	render_text(writer, "country", offer->country);
	render_text(writer, "instance_type", offer->instance_type);
	render_card(writer, offer);
	render_known(writer, "vcpus", offer->vcpus, 3);
	render_known(writer, "ram_gib", offer->ram_gib, 3);
	render_known(writer, "disk_gb", offer->disk_gb, 3);
	render_text(writer, "interconnect", offer->interconnect);
	render_text(writer, "tier", offer->tier);
	render_price(writer, offer);
	render_text(writer, "availability",
		    names_text(&availability_names, (int)offer->availability));
	writer_key(writer, "quantity");
	if (offer->quantity >= 0)
		writer_integer(writer, offer->quantity);
	else
		writer_null(writer);
	render_text(writer, "source", offer->source);
	render_time(writer, "observed_at", offer->observed_at_us);
	render_age(writer, "age_seconds", offer->observed_at_us, now_us);
	render_time(writer, "first_seen_at", offer->first_seen_us);
	render_time(writer, "last_seen_at", offer->last_seen_us);
	writer_end_object(writer);
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
