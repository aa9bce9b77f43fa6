/* Report: the table that `ingest --once` leaves on a terminal. Its column "live" is the day on
 * which an answer of the feed in the shape that its parser knows was last seen live, "-" when only
 * documents and other people's code were: `ingest --record` is how whoever has network refreshes
 * that. */
#include "server/ingest/round.h"

#include "server/ingest/provider.h"

#include <inttypes.h>

static const char *seen_live(const char *source)
{
	const struct provider *provider = provider_find(source);

	return provider && provider->last_seen_live ? provider->last_seen_live : "-";
}

void report_print(FILE *stream, const struct apply_result *results, size_t count)
{
	fprintf(stream, "%-14s %-21s %-12s %8s %8s %8s %8s %8s %8s %8s %8s %7s  %-10s  %s\n",
		"provider", "source", "outcome", "rows", "taken", "usual", "refused", "unmapped",
		"new", "changed", "gone", "seconds", "live", "detail");
	for (size_t i = 0; i < count; i++) {
		const struct apply_result *row = &results[i];

		fprintf(stream,
			"%-14s %-21s %-12s %8" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64
			" %8" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64 " %7.1f  %-10s  %s\n",
			row->provider, row->source, row->outcome, row->rows_seen,
			row->rows_accepted, row->rows_usual, row->rows_rejected, row->rows_unmapped,
			row->inserted, row->changed, row->withdrawn, row->seconds,
			seen_live(row->source), row->detail);
		if (row->rows_waiting)
			fprintf(stream,
				"%-14s %" PRId64 " rows moved over threefold: their last good price"
				" stays until a second refresh agrees\n",
				"", row->rows_waiting);
	}
}
