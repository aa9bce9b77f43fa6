/* Protobuf: see protobuf.h. */
#include "server/ingest/providers/protobuf.h"

#include <string.h>

#define VARINT_BYTES 10

static bool broken(struct protobuf *rest)
{
	*rest = (struct protobuf){.at = "", .is_broken = true};
	return false;
}

static void skip(struct protobuf *rest, size_t length)
{
	rest->at += length;
	rest->length -= length;
}

/* Seven bits a byte, the lowest first; the highest bit of a byte says that more follow. */
static bool read_varint(struct protobuf *rest, uint64_t *out)
{
	*out = 0;
	for (unsigned i = 0; i < VARINT_BYTES && i < rest->length; i++) {
		const unsigned char byte = (unsigned char)rest->at[i];

		*out |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			skip(rest, i + 1);
			return true;
		}
	}
	return broken(rest);
}

static bool read_fixed(struct protobuf *rest, size_t size, uint64_t *out)
{
	if (rest->length < size)
		return broken(rest);
	*out = 0;
	for (size_t i = 0; i < size; i++)
		*out |= (uint64_t)(unsigned char)rest->at[i] << (8 * i);
	skip(rest, size);
	return true;
}

bool protobuf_next(struct protobuf *rest, struct protobuf_field *out)
{
	uint64_t tag;

	*out = (struct protobuf_field){.bytes = {.at = ""}};
	if (!rest->length || !read_varint(rest, &tag))
		return false;
	out->number = tag >> 3;
	switch (tag & 7) {
	case PROTOBUF_VARINT:
		return read_varint(rest, &out->value);
	case PROTOBUF_FIXED64:
		out->type = PROTOBUF_FIXED64;
		return read_fixed(rest, 8, &out->value);
	case PROTOBUF_FIXED32:
		out->type = PROTOBUF_FIXED32;
		return read_fixed(rest, 4, &out->value);
	case PROTOBUF_BYTES:
		out->type = PROTOBUF_BYTES;
		if (!read_varint(rest, &out->value))
			return false;
		if (out->value > rest->length)
			return broken(rest);
		out->bytes = (struct protobuf){.at = rest->at, .length = (size_t)out->value};
		skip(rest, out->bytes.length);
		return true;
	default: /* groups, which proto3 has not */
		return broken(rest);
	}
}

bool protobuf_is_whole(struct protobuf message)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field))
		;
	return !message.is_broken;
}

bool protobuf_find(struct protobuf message, uint64_t number, enum protobuf_type type,
		   struct protobuf_field *out)
{
	struct protobuf_field field;
	bool is_found = false;

	while (protobuf_next(&message, &field))
		if (field.number == number && field.type == type) {
			*out = field;
			is_found = true;
		}
	return is_found;
}

struct protobuf protobuf_message(struct protobuf message, uint64_t number)
{
	struct protobuf_field field;

	return protobuf_find(message, number, PROTOBUF_BYTES, &field) ? field.bytes
								      : (struct protobuf){.at = ""};
}

uint64_t protobuf_number(struct protobuf message, uint64_t number)
{
	struct protobuf_field field;

	return protobuf_find(message, number, PROTOBUF_VARINT, &field) ? field.value : 0;
}

const char *protobuf_text(struct protobuf message, uint64_t number, struct arena *arena)
{
	const struct protobuf text = protobuf_message(message, number);

	if (!text.length || memchr(text.at, '\0', text.length))
		return "";
	return arena_strndup(arena, text.at, text.length);
}

static void put(struct protobuf_writer *writer, const char *bytes, size_t length)
{
	if (writer->is_exhausted)
		return;
	if (length > writer->capacity - writer->length) {
		const size_t capacity = 2 * (writer->length + length) + 64;
		char *grown = arena_alloc(writer->arena, capacity);

		if (!grown) {
			writer->is_exhausted = true;
			return;
		}
		if (writer->length)
			memcpy(grown, writer->bytes, writer->length);
		writer->bytes = grown;
		writer->capacity = capacity;
	}
	if (length)
		memcpy(writer->bytes + writer->length, bytes, length);
	writer->length += length;
}

static void put_varint(struct protobuf_writer *writer, uint64_t value)
{
	char bytes[VARINT_BYTES];
	size_t length = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[length++] = (char)(value | 0x80);
	bytes[length++] = (char)value;
	put(writer, bytes, length);
}

void protobuf_put_number(struct protobuf_writer *writer, uint64_t number, uint64_t value)
{
	put_varint(writer, number << 3 | PROTOBUF_VARINT);
	put_varint(writer, value);
}

static void put_bytes(struct protobuf_writer *writer, uint64_t number, const char *bytes,
		      size_t length)
{
	put_varint(writer, number << 3 | PROTOBUF_BYTES);
	put_varint(writer, length);
	put(writer, bytes, length);
}

void protobuf_put_text(struct protobuf_writer *writer, uint64_t number, const char *text)
{
	put_bytes(writer, number, text, strlen(text));
}

void protobuf_put_message(struct protobuf_writer *writer, uint64_t number,
			  const struct protobuf_writer *inner)
{
	writer->is_exhausted = writer->is_exhausted || inner->is_exhausted;
	put_bytes(writer, number, inner->bytes, inner->length);
}
