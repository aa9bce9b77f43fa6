/* Render: the key-and-value shorthands of render.h. */
#include "server/api/render.h"

void render_text(struct writer *writer, const char *key, const char *text)
{
	writer_key(writer, key);
	writer_string(writer, text && *text ? text : NULL);
}

void render_micros(struct writer *writer, const char *key, int64_t micros)
{
	writer_key(writer, key);
	writer_micros(writer, micros);
}

void render_number(struct writer *writer, const char *key, double value, int decimals)
{
	writer_key(writer, key);
	writer_number(writer, value, decimals);
}

void render_whole(struct writer *writer, const char *key, double value)
{
	writer_key(writer, key);
	writer_whole(writer, value);
}

void render_integer(struct writer *writer, const char *key, int64_t value)
{
	writer_key(writer, key);
	writer_integer(writer, value);
}

void render_flag(struct writer *writer, const char *key, bool value)
{
	writer_key(writer, key);
	writer_bool(writer, value);
}

void render_time(struct writer *writer, const char *key, int64_t wall_us)
{
	writer_key(writer, key);
	writer_time(writer, wall_us);
}

void render_known(struct writer *writer, const char *key, double value, int decimals)
{
	writer_key(writer, key);
	if (value > 0)
		writer_number(writer, value, decimals);
	else
		writer_null(writer);
}

void render_age(struct writer *writer, const char *key, int64_t then_us, int64_t now_us)
{
	writer_key(writer, key);
	writer_age(writer, then_us, now_us);
}
