/*
 * The accuracy harness: predictions against published measurements, through the code path of the
 * API. See README.md beside this file.
 */
#include "tests/accuracy/measurements.h"
#include "tests/accuracy/result.h"

#include <stdio.h>
#include <string.h>

#define KINDS_MAX 64

static const char usage[] =
	"usage: run [--memory FILE] [--throughput FILE] [--fit FILE] [--rows]\n"
	"           [--json | --record | --markdown | --check]\n"
	"  --memory, --throughput, --fit  tables of measurements; without any, those of "
	"../shared/truth\n"
	"  --rows      every row with its terms\n"
	"  --json      the figures as JSON\n"
	"  --record    core/data/accuracy.inc\n"
	"  --markdown  the table of core/README.md\n"
	"  --check     what is worse than recorded; exit status 1 if anything is\n";

enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_RECORD, OUTPUT_MARKDOWN, OUTPUT_CHECK, OUTPUTS };

static const char *const output_options[OUTPUTS] = {
	[OUTPUT_TEXT] = "--text",	  [OUTPUT_JSON] = "--json",   [OUTPUT_RECORD] = "--record",
	[OUTPUT_MARKDOWN] = "--markdown", [OUTPUT_CHECK] = "--check",
};

static int print(enum output output, const struct results *results, const struct figures *figures,
		 size_t count)
{
	switch (output) {
	case OUTPUT_JSON:
		report_json(stdout, results, figures, count);
		return 0;
	case OUTPUT_RECORD:
		report_record(stdout, figures, count);
		return 0;
	case OUTPUT_MARKDOWN:
		report_markdown(stdout, figures, count);
		return 0;
	case OUTPUT_CHECK:
		return report_check(stdout, figures, count) ? 1 : 0;
	case OUTPUT_TEXT:
	case OUTPUTS:
	default:
		report_text(stdout, results, figures, count);
		return 0;
	}
}

int main(int argc, char **argv)
{
	struct measurements measurements = {0};
	struct results results = {0};
	static struct figures figures[KINDS_MAX];
	enum output output = OUTPUT_TEXT;
	bool rows = false;
	size_t count;
	int status;

	for (int i = 1; i < argc; i++) {
		int used = measurements_option(&measurements, argc - i, argv + i);
		bool is_known = used > 0;

		i += used > 0 ? used - 1 : 0;
		for (int j = 0; !is_known && j < OUTPUTS; j++)
			if (strcmp(argv[i], output_options[j]) == 0) {
				output = (enum output)j;
				is_known = true;
			}
		if (!is_known && strcmp(argv[i], "--rows") == 0)
			is_known = rows = true;
		if (!is_known) {
			bool is_asked = strcmp(argv[i], "--help") == 0;

			fputs(usage, is_asked ? stdout : stderr);
			return is_asked ? 0 : 2;
		}
	}
	status = measurements_read(&measurements);
	if (status)
		return status;
	measurements_run(&measurements, &results);
	count = figures_compute(&results, figures, KINDS_MAX);
	if (rows)
		report_rows(stdout, &results);
	status = print(output, &results, figures, count);
	results_free(&results);
	measurements_free(&measurements);
	return status;
}
