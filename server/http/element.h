/*
 * Element: the grammar of one element of Forwarded (RFC 7239, 4), and the pieces of text that all
 * these fields are made of. Pure.
 */
#ifndef SERVER_HTTP_ELEMENT_H
#define SERVER_HTTP_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>

#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define PAIR_TEXT 264

struct text {
	const char *at;
	size_t length;
};

struct text text_trimmed(const char *at, size_t length);
bool text_consists_of(struct text text, const char *bytes); /* at least one of them */
bool text_equals(struct text text, const char *word);	    /* in either case */

enum { PAIR_FOR, PAIR_PROTO, PAIR_HOST, PAIR_BY, PAIRS };

struct element {
	char text[PAIRS][PAIR_TEXT]; /* without quotes and backslashes */
	bool has[PAIRS];
	bool is_blank;
};

/*
 * The element that ends at `end`; `from` becomes its start. Commas may stand inside quotes, and
 * what is left of the element may be a client's unbalanced quote: so the shortest ending that is
 * well-formed is taken. An ending that begins inside a quoted string never is: it holds an odd
 * number of quotes.
 */
bool element_last(struct text line, size_t end, size_t *from, struct element *element);

#endif
