/*
 * The accuracy harness: predictions against published measurements, through the code path of the
 * API. See README.md beside this file.
 */
#include "tests/accuracy/memory_rows.h"
#include "tests/accuracy/result.h"
#include "tests/accuracy/speed_rows.h"
#include "tests/accuracy/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KINDS_MAX 64

static const char usage[] =
	"usage: run [--memory FILE] [--throughput FILE] [--fit FILE] [--rows] [--json]\n"
	"           [--record | --markdown | --check]\n";

int main(int argc, char **argv)
{
	const char *memory_path = NULL, *throughput_path = NULL, *fit_path = NULL;
	bool rows = false, json = false, record = false, markdown = false, check = false;
	int status = 0;
	struct table memory = {0}, throughput = {0}, fit = {0};
	struct results results = {0};
	static struct figures figures[KINDS_MAX];
	size_t count;

	for (int i = 1; i < argc; i++) {
		const char **path = strcmp(argv[i], "--memory") == 0	   ? &memory_path
				    : strcmp(argv[i], "--throughput") == 0 ? &throughput_path
				    : strcmp(argv[i], "--fit") == 0	   ? &fit_path
									   : NULL;

		if (path && i + 1 < argc)
			*path = argv[++i];
		else if (strcmp(argv[i], "--rows") == 0)
			rows = true;
		else if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--record") == 0)
			record = true;
		else if (strcmp(argv[i], "--markdown") == 0)
			markdown = true;
		else if (strcmp(argv[i], "--check") == 0)
			check = true;
		else {
			fputs(usage, stderr);
			return 2;
		}
	}
	if ((memory_path && !table_read(memory_path, &memory)) ||
	    (throughput_path && !table_read(throughput_path, &throughput)) ||
	    (fit_path && !table_read(fit_path, &fit)))
		return 1;
	if (memory_path)
		memory_rows_run(&memory, &results);
	if (throughput_path)
		speed_rows_run(&throughput, &results);
	if (fit_path)
		fit_rows_run(&fit, &memory, &results);
	count = figures_compute(&results, figures, KINDS_MAX);
	if (rows)
		report_rows(stdout, &results);
	if (record)
		report_record(stdout, figures, count);
	else if (markdown)
		report_markdown(stdout, figures, count);
	else if (check)
		status = report_check(stdout, figures, count) ? 1 : 0;
	else if (json)
		report_json(stdout, &results, figures, count);
	else
		report_text(stdout, &results, figures, count);
	results_free(&results);
	table_free(&memory);
	table_free(&throughput);
	table_free(&fit);
	return status;
}
