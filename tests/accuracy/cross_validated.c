/* Recorded cross-validation: see cross_validated.h. */
#include "tests/accuracy/cross_validated.h"

#include <string.h>

#define KINDS_MAX 64

static const struct cross_validated recorded[] = {
#include "core/data/cross_validation.inc"
};

const struct cross_validated *cross_validated_find(const char *kind)
{
	for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++)
		if (strcmp(recorded[i].kind, kind) == 0)
			return &recorded[i];
	return NULL;
}

void cross_validated_record(FILE *file, const struct results *held_out, const struct results *plain)
{
	static struct figures figures[KINDS_MAX], plain_figures[KINDS_MAX];
	size_t count = figures_compute(held_out, figures, KINDS_MAX);

	/* The same rows, so the same kinds. */
	figures_compute(plain, plain_figures, KINDS_MAX);
	fprintf(file,
		"/* Written by tests/accuracy/fit --cross-validate --record: do not edit. */\n");
	for (size_t i = 0; i < count; i++)
		if (figures[i].table != RESULT_FIT && figures[i].used)
			fprintf(file,
				"\t{.kind = \"%s\", .median_percent = %.2f, .p90_percent = %.2f, "
				".under10_percent = %.2f, .low = %.3f, .high = %.3f, "
				".plain_median_percent = %.2f},\n",
				figures[i].kind, figures[i].median, figures[i].p90,
				figures[i].under10, figures[i].low, figures[i].high,
				plain_figures[i].median);
}
