/* UTF-8: is it? Overlong forms, surrogates and what is past U+10FFFF are not. */
#ifndef SERVER_UTF8_H
#define SERVER_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the sequence that starts here (1 to 4), or 0 when none does. `room` is at least 1. */
size_t utf8_sequence(const char *bytes, size_t room);

bool utf8_is_valid(const char *bytes, size_t length);

#endif
