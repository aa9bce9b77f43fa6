/* The framing of chunked bodies: see chunks.h. */
#include "server/http/chunks.h"

static enum chunks_state fail(struct chunks *chunks, enum error_code code, const char *problem)
{
	chunks->code = code;
	chunks->problem = problem;
	return CHUNKS_BAD;
}

static enum chunks_state fail_framing(struct chunks *chunks)
{
	return fail(chunks, ERROR_MALFORMED, "the chunks of the body are framed wrongly");
}

static int hex_digit(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static enum chunks_state take_size(struct chunks *chunks, char byte)
{
	int digit = hex_digit(byte);

	if (digit >= 0) {
		chunks->has_digit = true;
		chunks->left = chunks->left * 16 + (uint64_t)digit;
		return chunks->left < CHUNKS_SIZE_MAX
			       ? CHUNKS_SIZE
			       : fail(chunks, ERROR_TOO_LARGE, "a chunk of the body is too large");
	}
	if (!chunks->has_digit)
		return fail_framing(chunks);
	if (byte == '\r')
		return CHUNKS_SIZE_FEED;
	return byte == ';' ? CHUNKS_EXTENSION : fail_framing(chunks);
}

static enum chunks_state take_size_feed(struct chunks *chunks, char byte)
{
	if (byte != '\n')
		return fail_framing(chunks);
	chunks->line_bytes = 0;
	chunks->has_digit = false;
	return chunks->left ? CHUNKS_DATA : CHUNKS_TRAILER;
}

static enum chunks_state take_extension(struct chunks *chunks, char byte)
{
	if (byte == '\r')
		return CHUNKS_SIZE_FEED;
	return byte == '\n' ? fail_framing(chunks) : CHUNKS_EXTENSION;
}

static enum chunks_state take_data_return(struct chunks *chunks, char byte)
{
	return byte == '\r' ? CHUNKS_DATA_FEED : fail_framing(chunks);
}

static enum chunks_state take_data_feed(struct chunks *chunks, char byte)
{
	return byte == '\n' ? CHUNKS_SIZE : fail_framing(chunks);
}

static bool is_line_end(char byte)
{
	return byte == '\r' || byte == '\n' || byte == '\0';
}

static enum chunks_state take_trailer(struct chunks *chunks, char byte)
{
	if (byte == '\r')
		return CHUNKS_LAST_FEED;
	if (is_line_end(byte) || byte == ' ' || byte == '\t' || byte == ':')
		return fail_framing(chunks);
	return CHUNKS_TRAILER_NAME;
}

static enum chunks_state take_trailer_name(struct chunks *chunks, char byte)
{
	if (byte == ':')
		return CHUNKS_TRAILER_VALUE;
	return is_line_end(byte) ? fail_framing(chunks) : CHUNKS_TRAILER_NAME;
}

static enum chunks_state take_trailer_value(struct chunks *chunks, char byte)
{
	if (byte == '\r')
		return CHUNKS_TRAILER_FEED;
	return is_line_end(byte) ? fail_framing(chunks) : CHUNKS_TRAILER_VALUE;
}

static enum chunks_state take_trailer_feed(struct chunks *chunks, char byte)
{
	return byte == '\n' ? CHUNKS_TRAILER : fail_framing(chunks);
}

static enum chunks_state take_last_feed(struct chunks *chunks, char byte)
{
	return byte == '\n' ? CHUNKS_DONE : fail_framing(chunks);
}

/* Data is passed over as a whole. */
static enum chunks_state (*const takers[CHUNKS_DONE])(struct chunks *chunks, char byte) = {
	[CHUNKS_SIZE] = take_size,
	[CHUNKS_EXTENSION] = take_extension,
	[CHUNKS_SIZE_FEED] = take_size_feed,
	[CHUNKS_DATA_RETURN] = take_data_return,
	[CHUNKS_DATA_FEED] = take_data_feed,
	[CHUNKS_TRAILER] = take_trailer,
	[CHUNKS_TRAILER_NAME] = take_trailer_name,
	[CHUNKS_TRAILER_VALUE] = take_trailer_value,
	[CHUNKS_TRAILER_FEED] = take_trailer_feed,
	[CHUNKS_LAST_FEED] = take_last_feed,
};

/* Room for one more byte that is not data. */
static bool has_room(struct chunks *chunks)
{
	if (chunks->state <= CHUNKS_SIZE_FEED)
		return ++chunks->line_bytes <= CHUNKS_LINE_BYTES_MAX;
	return chunks->state < CHUNKS_TRAILER || ++chunks->line_bytes <= CHUNKS_TRAILER_BYTES_MAX;
}

size_t chunks_take(struct chunks *chunks, const char *bytes, size_t length)
{
	size_t at = 0;

	while (at < length && chunks->state < CHUNKS_DONE) {
		size_t rest = length - at, data;

		if (chunks->state != CHUNKS_DATA) {
			char byte = bytes[at++];

			chunks->state = has_room(chunks)
						? takers[chunks->state](chunks, byte)
						: fail(chunks, ERROR_HEAD_TOO_LARGE,
						       "the lines around the chunks are too long");
			continue;
		}
		data = chunks->left < rest ? (size_t)chunks->left : rest;
		at += data;
		chunks->left -= data;
		if (!chunks->left)
			chunks->state = CHUNKS_DATA_RETURN;
	}
	return at;
}
