/*
 * Service: what a plan for a rate of requests has to spare, and how it scales: replicas, nodes and
 * cost when idle, at the mean rate and at its peak.
 */
#ifndef CORE_SERVICE_H
#define CORE_SERVICE_H

#include "core/plan.h"

struct service_level {
	double requests_per_second;
	int64_t replicas, nodes;
	int64_t usd_per_hour_micros; /* PRICE_UNKNOWN when it cannot be counted */
};

struct service {
	double utilisation;		   /* of all replicas at the asked rate */
	double spare_requests_per_second;  /* more, until the load that it is sized for */
	double wait_seconds, ttft_seconds; /* at the asked rate, in the mean; with the wait */
	struct service_level idle, mean, peak;
	bool has_peak;
};

/* False when the workload gives no rate. `node_micros` is the price of a node's hour. */
bool service_of(const struct workload *workload, const struct plan *plan, int64_t node_micros,
		struct service *out);

#endif
