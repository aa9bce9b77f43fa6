/* Every metric with every label that a server and a worker could show, for test_observability.py.
 */
#include "server/http/routes.h"
#include "server/ingest/provider.h"
#include "server/metrics.h"

#include <stdio.h>
#include <stdlib.h>

static void run_feeds(struct metrics *metrics)
{
	static const char *const outcomes[] = {"ok", "http", "held", "skipped"};
	int64_t refused[REJECTIONS];

	for (int i = 0; i < REJECTIONS; i++)
		refused[i] = i + 1;
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++) {
		const struct metrics_ingest run = {.result = outcomes[i],
						   .finished_us = 1700000000000000,
						   .duration_us = 1500000,
						   .refresh_seconds = 600,
						   .requests = 2,
						   .bytes = 1000,
						   .rows_seen = 40,
						   .rows_accepted = 30,
						   .rows_rejected = 10,
						   .rows_unmapped = 1,
						   .rows_usual = 35,
						   .changes = 3,
						   .refused = refused};

		metrics_ingest_run(metrics, 0, &run);
	}
}

int main(void)
{
	struct metrics *metrics = metrics_new(routes_count, providers_count);
	struct writer writer;
	char *text;

	if (!metrics)
		return EXIT_FAILURE;
	metrics_request(metrics, 0, 200, 1500);
	metrics_request(metrics, 0, 503, 3000000);
	run_feeds(metrics);
	writer_init(&writer, (size_t)1 << 20);
	metrics_render(metrics, &writer);
	metrics_free(metrics);
	text = writer_take(&writer, NULL);
	if (!text)
		return EXIT_FAILURE;
	fputs(text, stdout);
	free(text);
	return EXIT_SUCCESS;
}
