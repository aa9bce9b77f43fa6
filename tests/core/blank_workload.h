/* Workloads that say little, and what is found wrong with them: what their tests share. */
#ifndef TESTS_CORE_BLANK_WORKLOAD_H
#define TESTS_CORE_BLANK_WORKLOAD_H

#include "core/model.h"
#include "core/workload.h"

#include <check.h>
#include <string.h>

static struct arena arena;
static struct error error;

static inline void begin(void)
{
	arena_init(&arena, 1 << 20);
	error_init(&error, &arena);
}

static inline void end(void)
{
	arena_release(&arena);
}

static inline struct workload blank(enum task task)
{
	return (struct workload){
		.architecture = &model_find("meta-llama/Llama-3.1-8B")->architecture,
		.task = (int)task,
		.given = WORKLOAD_BIT(WORKLOAD_task),
	};
}

#define GIVE(workload, field, value)                                                               \
	((workload).field = (value), (workload).given |= WORKLOAD_BIT(WORKLOAD_##field))

/* The item at that pointer, or NULL. */
static inline const struct error_item *item(const char *pointer)
{
	for (const struct error_item *at = error.first; at; at = at->next)
		if (strcmp(at->pointer, pointer) == 0)
			return at;
	return NULL;
}

static inline void expect_fault(struct workload *workload, const char *pointer, const char *code)
{
	ck_assert(!workload_complete(workload, "/workload", &error));
	ck_assert_msg(item(pointer), "nothing at %s", pointer);
	ck_assert_str_eq(item(pointer)->code, code);
}

#endif
