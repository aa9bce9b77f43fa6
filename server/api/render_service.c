/* Render: what a service has to spare and how it scales. */
#include "core/service.h"

#include "server/api/render.h"

static void render_level(struct writer *writer, const char *key, const struct service_level *level)
{
	writer_key(writer, key);
	writer_begin_object(writer);
	render_number(writer, "requests_per_second", level->requests_per_second, 4);
	render_integer(writer, "replicas", level->replicas);
	render_integer(writer, "nodes", level->nodes);
	render_micros(writer, "usd_per_hour", level->usd_per_hour_micros);
	writer_end_object(writer);
}

void render_service(struct writer *writer, const struct workload *workload,
		    const struct recommendation *item)
{
	const struct cost *cost = &item->cost;
	struct service service;

	if (!service_of(workload, &item->plan, cost->usd_per_hour_micros / cost->nodes, &service))
		return;
	writer_key(writer, "service");
	writer_begin_object(writer);
	render_number(writer, "utilisation", service.utilisation, 4);
	render_number(writer, "spare_requests_per_second", service.spare_requests_per_second, 4);
	render_number(writer, "queue_seconds", service.wait_seconds, 6);
	render_number(writer, "ttft_seconds", service.ttft_seconds, 6);
	render_level(writer, "idle", &service.idle);
	render_level(writer, "mean", &service.mean);
	if (service.has_peak)
		render_level(writer, "peak", &service.peak);
	writer_end_object(writer);
}
