/* Fitted constants: see constants.h. */
#include "tests/accuracy/constants.h"

#include "core/fitted.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The linker joins the pointers that core/fitted.h puts into this section. */
extern const struct fitted *const __start_fitted[];
extern const struct fitted *const __stop_fitted[];

/* "core/speed/serve.c" is "speed/serve". */
static void name_of(const struct fitted *fitted, size_t index, char *out, size_t room)
{
	const char *core = strstr(fitted->file, "core/");
	const char *file = core ? core + strlen("core/") : fitted->file;
	int length = (int)strcspn(file, ".");

	if (fitted->count > 1)
		snprintf(out, room, "%.*s %s[%zu]", length, file, fitted->name, index);
	else
		snprintf(out, room, "%.*s %s", length, file, fitted->name);
}

/* A cell that is declared beside its column keeps its own range. */
static bool has_cell(const double *value)
{
	for (const struct fitted *const *at = __start_fitted; at < __stop_fitted; at++)
		if ((*at)->count == 1 && (*at)->first == value)
			return true;
	return false;
}

size_t constants_all(struct constant *out, size_t max)
{
	size_t count = 0;

	for (const struct fitted *const *at = __start_fitted; at < __stop_fitted; at++)
		for (size_t i = 0; i < (*at)->count; i++) {
			double *value = (*at)->first + i * ((*at)->stride_bytes / sizeof(double));

			if (*value <= 0 || ((*at)->count > 1 && has_cell(value)))
				continue;
			if (count == max)
				abort();
			out[count] = (struct constant){.value = value,
						       .present = *value,
						       .low = (*at)->low,
						       .high = (*at)->high};
			name_of(*at, i, out[count].name, sizeof(out[count].name));
			if (!((*at)->low > 0 && (*at)->low <= *value && *value <= (*at)->high))
				fprintf(stderr, "%s: %g is not in its range, %g to %g\n",
					out[count].name, *value, (*at)->low, (*at)->high);
			count++;
		}
	return count;
}

double constant_middle(const struct constant *constant)
{
	return sqrt(constant->low * constant->high);
}

double constant_distance(const struct constant *constant, double from, double to)
{
	return fabs(log(to / from)) / log(constant->high / constant->low);
}
