/* Tables given to the accuracy programs: see measurements.h. */
#include "tests/accuracy/measurements.h"

#include "tests/accuracy/memory_rows.h"
#include "tests/accuracy/speed_rows.h"

#include <stdio.h>
#include <string.h>

static const char *const options[RESULT_TABLES] = {
	[RESULT_MEMORY] = "--memory",
	[RESULT_THROUGHPUT] = "--throughput",
	[RESULT_FIT] = "--fit",
};

int measurements_option(struct measurements *measurements, int argc, char **argv)
{
	for (int i = 0; argc > 1 && i < RESULT_TABLES; i++)
		if (strcmp(argv[0], options[i]) == 0) {
			measurements->paths[i] = argv[1];
			return 2;
		}
	return 0;
}

static size_t rows_of(const struct table *table, const char *kind)
{
	size_t count = 0;

	for (size_t i = 0; i < table->rows; i++)
		count += strcmp(row_text(&(struct row){table, i}, "kind"), kind) == 0;
	return count;
}

static void tell_kinds(const char *path, const struct table *table, const char *const *kinds,
		       size_t count)
{
	size_t others = table->rows;

	for (size_t i = 0; i < count; i++) {
		size_t rows = rows_of(table, kinds[i]);

		others -= rows;
		if (!rows)
			fprintf(stderr, "%s: no row of kind %s\n", path, kinds[i]);
	}
	if (others)
		fprintf(stderr, "%s: %zu rows of kinds that are not predicted here\n", path,
			others);
}

int measurements_read(struct measurements *measurements)
{
	bool is_given = false;

	for (int i = 0; i < RESULT_TABLES; i++) {
		const char *path = measurements->paths[i];

		if (!path)
			continue;
		is_given = true;
		if (!table_read(path, &measurements->tables[i])) {
			measurements_free(measurements);
			return 1;
		}
		if (!measurements->tables[i].rows)
			fprintf(stderr, "%s: no rows\n", path);
		else if (i == RESULT_MEMORY)
			tell_kinds(path, &measurements->tables[i], memory_kinds,
				   memory_kinds_count);
		else if (i == RESULT_THROUGHPUT)
			tell_kinds(path, &measurements->tables[i], speed_kinds, speed_kinds_count);
	}
	if (is_given)
		return 0;
	fputs("no measurements: give tables with --memory, --throughput or --fit\n", stderr);
	return MEASUREMENTS_MISSING;
}

void measurements_run(const struct measurements *measurements, struct results *results)
{
	const struct table *tables = measurements->tables;

	memory_rows_run(&tables[RESULT_MEMORY], results);
	speed_rows_run(&tables[RESULT_THROUGHPUT], results);
	/* Rows of memory.csv fitted: they are the other half of the question. */
	if (measurements->paths[RESULT_FIT])
		fit_rows_run(&tables[RESULT_FIT], &tables[RESULT_MEMORY], results);
}

void measurements_free(struct measurements *measurements)
{
	for (int i = 0; i < RESULT_TABLES; i++)
		table_free(&measurements->tables[i]);
}
