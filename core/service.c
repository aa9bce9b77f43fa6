/* Service: see service.h. */
#include "core/service.h"

#include "core/offer.h"
#include "core/units.h"

#include <math.h>

/* Replicas that stay up whatever the load, or more where the rate takes them. */
static struct service_level level_of(const struct workload *workload, const struct plan *plan,
				     int64_t node_micros, double rate)
{
	const struct layout *layout = &plan->layout;
	double each = plan->most_requests_per_second / layout->replicas;
	double replicas =
		fmax((double)workload->min_replicas, ceil(rate / (PLAN_TARGET_LOAD * each)));
	/* Several copies share a node, or several nodes a copy. */
	double nodes = layout->replicas >= layout->nodes
			       ? ceil(replicas / ((double)layout->replicas / layout->nodes))
			       : replicas * ((double)layout->nodes / layout->replicas);
	struct service_level level = {rate, (int64_t)replicas, (int64_t)nodes, PRICE_UNKNOWN};

	if (nodes >= 1e9 || !micros_multiply(node_micros, level.nodes, &level.usd_per_hour_micros))
		level.usd_per_hour_micros = PRICE_UNKNOWN;
	return level;
}

bool service_of(const struct workload *workload, const struct plan *plan, int64_t node_micros,
		struct service *out)
{
	double rate = workload->requests_per_second;

	if (workload->task != TASK_INFERENCE || !(rate > 0) || plan->layout.replicas < 1 ||
	    !(plan->most_requests_per_second > 0))
		return false;
	*out = (struct service){
		.utilisation = plan->utilisation,
		.spare_requests_per_second =
			fmax(0, PLAN_TARGET_LOAD * plan->most_requests_per_second - rate),
		.wait_seconds = plan->wait_seconds,
		.ttft_seconds = plan->speed.ttft_seconds + plan->wait_seconds,
		.idle = level_of(workload, plan, node_micros, 0),
		.mean = level_of(workload, plan, node_micros, rate),
		.has_peak = workload->peak_requests_per_second > 0,
	};
	if (out->has_peak)
		out->peak =
			level_of(workload, plan, node_micros, workload->peak_requests_per_second);
	return true;
}
