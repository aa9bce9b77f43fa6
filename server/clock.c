/* The clocks: see clock.h. */
#include "server/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static int64_t read_us(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * US_PER_SECOND + now.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
	return read_us(CLOCK_REALTIME);
}

int64_t clock_monotonic_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

void clock_format(int64_t wall_us, char out[CLOCK_TEXT])
{
	int64_t seconds = wall_us / US_PER_SECOND, fraction = wall_us % US_PER_SECOND;
	time_t second;
	struct tm parts;
	size_t length;

	if (fraction < 0) {
		fraction += US_PER_SECOND;
		seconds--;
	}
	second = seconds;
	if (!gmtime_r(&second, &parts)) {
		snprintf(out, CLOCK_TEXT, "1970-01-01T00:00:00Z");
		return;
	}
	length = strftime(out, CLOCK_TEXT, "%Y-%m-%dT%H:%M:%S", &parts);
	if (fraction)
		snprintf(out + length, CLOCK_TEXT - length, ".%06dZ", (int)fraction);
	else
		snprintf(out + length, CLOCK_TEXT - length, "Z");
}

/* Exactly `digits` digits; moves *text past them. -1 when they are not there. */
static int take_number(const char **text, int digits)
{
	int value = 0;

	for (int i = 0; i < digits; i++, (*text)++) {
		if (**text < '0' || **text > '9')
			return -1;
		value = value * 10 + (**text - '0');
	}
	return value;
}

static bool take_date(const char **text, struct tm *out)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int year = take_number(text, 4), month, day;
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	if (year < 1970 || *(*text)++ != '-')
		return false;
	month = take_number(text, 2);
	if (month < 1 || month > 12 || *(*text)++ != '-')
		return false;
	day = take_number(text, 2);
	if (day < 1 || day > days[month - 1] + (month == 2 && is_leap))
		return false;
	*out = (struct tm){.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
	return true;
}

static bool take_time(const char **text, struct tm *out, int64_t *fraction_us)
{
	int64_t unit = US_PER_SECOND / 10;

	out->tm_hour = take_number(text, 2);
	if (out->tm_hour < 0 || out->tm_hour > 23 || *(*text)++ != ':')
		return false;
	out->tm_min = take_number(text, 2);
	if (out->tm_min < 0 || out->tm_min > 59 || *(*text)++ != ':')
		return false;
	out->tm_sec = take_number(text, 2);
	if (out->tm_sec < 0 || out->tm_sec > 60)
		return false;
	if (**text != '.')
		return true;
	if (*++*text < '0' || **text > '9')
		return false;
	for (; **text >= '0' && **text <= '9'; (*text)++, unit /= 10)
		*fraction_us += (**text - '0') * unit;
	return true;
}

/* "Z" or "+01:00", in seconds east of Greenwich. */
static bool take_offset(const char **text, int64_t *out)
{
	char sign = *(*text)++;
	int hours, minutes;

	*out = 0;
	if (sign == 'Z' || sign == 'z')
		return true;
	if (sign != '+' && sign != '-')
		return false;
	hours = take_number(text, 2);
	if (hours < 0 || hours > 23 || *(*text)++ != ':')
		return false;
	minutes = take_number(text, 2);
	if (minutes < 0 || minutes > 59)
		return false;
	*out = (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
	return true;
}

int64_t clock_parse(const char *text)
{
	int64_t fraction_us = 0, offset = 0, wall_us;
	struct tm parts;

	if (!take_date(&text, &parts))
		return -1;
	if (*text) {
		if (*text != 'T' && *text != 't' && *text != ' ')
			return -1;
		text++;
		if (!take_time(&text, &parts, &fraction_us) || !take_offset(&text, &offset) ||
		    *text)
			return -1;
	}
	wall_us = ((int64_t)timegm(&parts) - offset) * US_PER_SECOND + fraction_us;
	return wall_us < 0 ? -1 : wall_us;
}
