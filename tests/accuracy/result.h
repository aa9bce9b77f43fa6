/* What became of each row, and the figures over rows of one kind. */
#ifndef TESTS_ACCURACY_RESULT_H
#define TESTS_ACCURACY_RESULT_H

#include "tests/accuracy/skip.h"
#include "tests/accuracy/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum result_table { RESULT_MEMORY, RESULT_THROUGHPUT, RESULT_FIT, RESULT_TABLES };

struct result {
	enum result_table table;
	struct row row;
	void (*predict)(struct result *result); /* fills what follows from is_used on */
	char kind[32], id[24], source[200];
	char model[64], card[48];
	char configuration[256]; /* rows that differ in nothing but card share it */
	char setting[200];	 /* configuration and card: repeats of it show the noise */
	bool is_used;
	enum skip reason;	    /* why not used */
	double predicted, measured; /* same unit; for fit: 1 fits, 0 does not */
	double error_percent;	    /* signed */
	char terms[256];	    /* of the prediction, or what a refusal said */
};

struct results {
	struct result *items;
	size_t count, room;
};

struct result *results_add(struct results *results);
void results_free(struct results *results);

/* Names the kind; one that both tables have, by its table as well: "audio_speed". Sets nothing
 * else. */
void result_set_kind(struct result *result, const char *kind);

/* The kind as the rows name it: "audio". */
const char *result_kind_of_rows(const char *kind);

/* Notes why the row is skipped, or its error. */
void result_close(struct result *result, enum skip reason);

struct figures {
	const char *kind;
	enum result_table table;
	size_t rows, suffice, used;	   /* suffice: those whose columns do */
	double median, p90, bias, under10; /* per cent; NAN when nothing is used */
	double macro_median, macro_p90;	   /* each source counts once */
	double noise_median, noise_p90;
	size_t noise_rows;
	double tau;
	size_t pairs;
	double false_fit, false_oom; /* fit table: shares of the rows of each outcome */
	double low, high;	     /* measured over predicted: 10th and 90th percentile */
};

/* Kinds in the order in which they appear. */
size_t figures_compute(const struct results *results, struct figures *out, size_t max);

void report_text(FILE *file, const struct results *results, const struct figures *figures,
		 size_t count);
void report_rows(FILE *file, const struct results *results);
void report_json(FILE *file, const struct results *results, const struct figures *figures,
		 size_t count);

/* core/data/accuracy.inc; a Markdown table for people. */
void report_record(FILE *file, const struct figures *figures, size_t count);
void report_markdown(FILE *file, const struct figures *figures, size_t count);

/* Figures that are worse than the recorded ones, one a line; their number. */
size_t report_check(FILE *file, const struct figures *figures, size_t count);

#endif
