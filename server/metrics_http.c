/* Metrics of requests and connections, in the Prometheus text format. */
#include "server/clock.h"
#include "server/http/routes.h"
#include "server/metrics_parts.h"

#include <stdio.h>

static const char *const rejections[METRICS_REJECTIONS] = {
	[METRICS_REJECTED_FRAMING] = "framing",
	[METRICS_REJECTED_TARGET] = "target",
	[METRICS_REJECTED_HEAD_TIMEOUT] = "head_timeout",
	[METRICS_REJECTED_BODY_TIMEOUT] = "body_timeout",
	[METRICS_REJECTED_TOO_LARGE] = "too_large",
	[METRICS_REJECTED_CONNECTIONS] = "connections",
	[METRICS_REJECTED_BUSY] = "busy",
	[METRICS_REJECTED_POLLS] = "long_polls",
};

static const char *const poll_ends[METRICS_POLLS] = {
	[METRICS_POLL_NEWS] = "news",
	[METRICS_POLL_TIMEOUT] = "timeout",
	[METRICS_POLL_LEFT] = "left",
	[METRICS_POLL_STOP] = "stop",
};

static const char *const forwarded_faults[FORWARDED_FAULTS] = {
	[FORWARDED_UNTRUSTED] = "untrusted",
	[FORWARDED_MALFORMED] = "malformed",
	[FORWARDED_CONFLICT] = "conflict",
};

static void render_histogram(struct writer *writer, const struct histogram *histogram,
			     const char *labels)
{
	uint64_t total = 0;

	for (size_t i = 0; i < METRICS_BUCKETS; i++) {
		total += metrics_value(&histogram->bucket[i]);
		writer_format(writer,
			      "gpupick_http_request_duration_seconds_bucket{%s,le=\"%g\"} %llu\n",
			      labels, metrics_buckets[i], (unsigned long long)total);
	}
	total += metrics_value(&histogram->bucket[METRICS_BUCKETS]);
	writer_format(writer,
		      "gpupick_http_request_duration_seconds_bucket{%s,le=\"+Inf\"} %llu\n"
		      "gpupick_http_request_duration_seconds_sum{%s} %.6f\n"
		      "gpupick_http_request_duration_seconds_count{%s} %llu\n",
		      labels, (unsigned long long)total, labels,
		      (double)metrics_value(&histogram->sum_us) / (double)US_PER_SECOND, labels,
		      (unsigned long long)total);
}

static bool is_used(const struct histogram *histogram)
{
	for (size_t i = 0; i <= METRICS_BUCKETS; i++) {
		if (metrics_value(&histogram->bucket[i]))
			return true;
	}
	return false;
}

static void render_requests(const struct metrics *metrics, struct writer *writer)
{
	metrics_head(writer, "gpupick_http_request_duration_seconds", "histogram",
		     "From the request line to the queued answer.");
	for (size_t row = 0; row <= metrics->routes; row++) {
		const struct route *route = row ? &routes[row - 1] : NULL;

		for (size_t code = 0; code < METRICS_CODES; code++) {
			const struct histogram *histogram =
				&metrics->requests[row * METRICS_CODES + code];
			char labels[160];

			if (!is_used(histogram))
				continue;
			snprintf(labels, sizeof(labels), "route=\"%s\",method=\"%s\",code=\"%u\"",
				 route ? route->operation : "none", route ? route->method : "none",
				 metrics_codes[code]);
			render_histogram(writer, histogram, labels);
		}
	}
}

static void render_polls(const struct metrics *metrics, struct writer *writer)
{
	metrics_gauge(writer, "gpupick_http_long_polls", "Requests that wait for news.",
		      (double)atomic_load(&metrics->polling));
	metrics_head(writer, "gpupick_http_long_polls_total", "counter",
		     "Requests that have waited for news, by how it ended.");
	for (size_t i = 0; i < METRICS_POLLS; i++)
		writer_format(writer, "gpupick_http_long_polls_total{end=\"%s\"} %llu\n",
			      poll_ends[i], (unsigned long long)metrics_value(&metrics->polls[i]));
	metrics_head(writer, "gpupick_http_deltas_expired_total", "counter",
		     "Cursors too old, or of another epoch, that were answered 410.");
	writer_format(writer, "gpupick_http_deltas_expired_total %llu\n",
		      (unsigned long long)metrics_value(&metrics->deltas_expired));
}

void metrics_render_http(const struct metrics *metrics, struct writer *writer)
{
	render_requests(metrics, writer);
	metrics_gauge(writer, "gpupick_http_requests_in_flight", "Requests under way.",
		      (double)atomic_load(&metrics->in_flight));
	metrics_gauge(writer, "gpupick_http_requests_waiting", "Of those, for the database.",
		      (double)atomic_load(&metrics->waiting));
	metrics_gauge(writer, "gpupick_http_connections", "Open client connections.",
		      (double)atomic_load(&metrics->connections));
	render_polls(metrics, writer);
	metrics_head(writer, "gpupick_http_rejected_total", "counter",
		     "Requests and connections turned away before any handler.");
	for (size_t i = 0; i < METRICS_REJECTIONS; i++)
		writer_format(writer, "gpupick_http_rejected_total{reason=\"%s\"} %llu\n",
			      rejections[i],
			      (unsigned long long)metrics_value(&metrics->rejected[i]));
	metrics_head(writer, "gpupick_http_forwarded_ignored_total", "counter",
		     "Requests whose Forwarded or X-Forwarded fields were not believed.");
	for (size_t i = 0; i < FORWARDED_FAULTS; i++)
		writer_format(writer, "gpupick_http_forwarded_ignored_total{reason=\"%s\"} %llu\n",
			      forwarded_faults[i],
			      (unsigned long long)metrics_value(&metrics->forwarded_ignored[i]));
	metrics_head(writer, "gpupick_http_not_modified_total", "counter",
		     "Answers that were a 304.");
	writer_format(writer, "gpupick_http_not_modified_total %llu\n",
		      (unsigned long long)metrics_value(&metrics->not_modified));
}
