/* Name tables: see names.h. */
#include "core/names.h"

#include <string.h>

#define LONGEST 127

int names_find(const struct names *names, const char *text)
{
	for (int i = 0; i < names->count; i++)
		if (names->text[i] && strcmp(names->text[i], text) == 0)
			return i;
	return -1;
}

const char *names_text(const struct names *names, int value)
{
	if (value < 0 || value >= names->count || !names->text[value])
		return "unknown";
	return names->text[value];
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

int names_compare(const char *a, const char *b)
{
	while (*a && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return (unsigned char)lower(*a) - (unsigned char)lower(*b);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned names_distance(const char *a, const char *b, unsigned limit)
{
	unsigned rows[3][LONGEST + 1];
	unsigned *before = rows[0], *previous = rows[1], *current = rows[2];
	size_t n = strnlen(a, LONGEST), m = strnlen(b, LONGEST);

	if ((n > m ? n - m : m - n) > limit)
		return limit + 1;
	for (size_t j = 0; j <= m; j++)
		previous[j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *spare, best;

		best = current[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned change = lower(a[i - 1]) != lower(b[j - 1]);

			current[j] = least(least(previous[j], current[j - 1]) + 1,
					   previous[j - 1] + change);
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]))
				current[j] = least(current[j], before[j - 2] + 1);
			best = least(best, current[j]);
		}
		if (best > limit)
			return limit + 1;
		spare = before;
		before = previous;
		previous = current;
		current = spare;
	}
	return previous[m];
}

const char *names_nearest(const struct names *names, const char *text)
{
	const char *nearest = NULL;
	unsigned best = least((unsigned)strlen(text), LONGEST) / 3 + 1;

	for (int i = 0; i < names->count; i++) {
		unsigned distance;

		if (!names->text[i])
			continue;
		distance = names_distance(names->text[i], text, best);
		if (distance < best || (distance == best && !nearest)) {
			best = distance;
			nearest = names->text[i];
		}
	}
	return nearest;
}
