/* Pasted configurations in tests: read as a request's are, into an arena of the test. */
#ifndef TESTS_CORE_PASTED_H
#define TESTS_CORE_PASTED_H

#include "core/hf_config.h"
#include "server/json/config_view.h"

#include <check.h>
#include <string.h>

static struct arena arena;
static struct error error;

static inline void setup(void)
{
	arena_init(&arena, 256u << 20);
	error_init(&error, &arena);
}

static inline void teardown(void)
{
	arena_release(&arena);
}

static inline struct config_value *parse(const char *text)
{
	return config_view_parse(text, strlen(text), &arena, &error);
}

static inline bool read_text(const char *text, struct architecture *out)
{
	struct config_value *root = parse(text);

	ck_assert_msg(root != NULL, "%s", error.detail);
	return hf_config_read(root, out, &error);
}

static inline uint64_t total_of(const struct architecture *architecture)
{
	struct parameter_count count;

	architecture_count(architecture, &count);
	return count.total;
}

#endif
