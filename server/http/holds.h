/*
 * Holds: how many requests wait for news at once, in all and of each caller, so that none can take
 * every place. Safe from any thread.
 */
#ifndef SERVER_HTTP_HOLDS_H
#define SERVER_HTTP_HOLDS_H

#include "core/error.h"

struct holds;

/* 0: no limit. NULL when memory is out. */
struct holds *holds_new(unsigned most, unsigned most_a_caller);
void holds_free(struct holds *holds);

/* False when the places are taken, and why. Each success needs one holds_leave() of the same name.
 */
bool holds_enter(struct holds *holds, const char *caller, struct error *error);
void holds_leave(struct holds *holds, const char *caller);

#endif
