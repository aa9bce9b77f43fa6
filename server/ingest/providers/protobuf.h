/*
 * Protobuf: the wire format of protocol buffers, written and read field by field, for the few
 * messages that a feed needs: no schema, no generated code. What is read is not trusted: a length
 * beyond its message ends the reading and is said.
 */
#ifndef SERVER_INGEST_PROVIDERS_PROTOBUF_H
#define SERVER_INGEST_PROVIDERS_PROTOBUF_H

#include "core/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum protobuf_type {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2, /* texts, messages inside, packed lists */
	PROTOBUF_FIXED32 = 5
};

/* What is left of a message, or a part of it. */
struct protobuf {
	const char *at;
	size_t length;
	bool is_broken;
};

struct protobuf_field {
	uint64_t number; /* of the field */
	enum protobuf_type type;
	uint64_t value;	       /* of numbers */
	struct protobuf bytes; /* of PROTOBUF_BYTES */
};

/* The next field; false at the end, and with is_broken set where the bytes are none. */
bool protobuf_next(struct protobuf *rest, struct protobuf_field *out);

/* True when all of the message can be read, so that what a search does not find is not there. */
bool protobuf_is_whole(struct protobuf message);

/* The last field of this number and type, as the format has it for fields that are not lists; false
 * when there is none. */
bool protobuf_find(struct protobuf message, uint64_t number, enum protobuf_type type,
		   struct protobuf_field *out);

/* "" and 0 when there is none, as the format has it. */
struct protobuf protobuf_message(struct protobuf message, uint64_t number);
uint64_t protobuf_number(struct protobuf message, uint64_t number);

/* Terminated, in the arena; "" when there is none or it holds a zero byte; NULL without memory. */
const char *protobuf_text(struct protobuf message, uint64_t number, struct arena *arena);

/* A message being written; grows in the arena. */
struct protobuf_writer {
	struct arena *arena;
	char *bytes;
	size_t length, capacity;
	bool is_exhausted; /* memory gave out: the message is not whole */
};

void protobuf_put_number(struct protobuf_writer *writer, uint64_t number, uint64_t value);
void protobuf_put_text(struct protobuf_writer *writer, uint64_t number, const char *text);
void protobuf_put_message(struct protobuf_writer *writer, uint64_t number,
			  const struct protobuf_writer *inner);

#endif
