/* Report: the table that `ingest --once` leaves on a terminal. */
#include "server/ingest/round.h"

#include <inttypes.h>

void report_print(FILE *stream, const struct result *results, size_t count)
{
	fprintf(stream, "%-10s %-12s %8s %8s %8s %8s %8s %8s %8s %7s  %s\n", "provider", "outcome",
		"rows", "taken", "refused", "unmapped", "new", "changed", "gone", "seconds",
		"detail");
	for (size_t i = 0; i < count; i++) {
		const struct result *row = &results[i];

		fprintf(stream,
			"%-10s %-12s %8" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64
			" %8" PRId64 " %8" PRId64 " %7.1f  %s\n",
			row->provider, row->outcome, row->rows_seen, row->rows_accepted,
			row->rows_rejected, row->rows_unmapped, row->inserted, row->changed,
			row->withdrawn, row->seconds, row->detail);
		if (row->rows_waiting)
			fprintf(stream,
				"%-10s %" PRId64 " rows moved over threefold: their last good price"
				" stays until a second refresh agrees\n",
				"", row->rows_waiting);
	}
}
