/* Binary parameters and cells: see connection.h. The formats are those of the server's send and
 * receive functions: big-endian integers and doubles, text as it is, arrays of one dimension. */
#include "server/store/connection.h"

#include <arpa/inet.h>
#include <endian.h>
#include <math.h>
#include <string.h>

#define ARENA_BYTES ((size_t)2 << 30)

/* Microseconds between 1970 and 2000, where the server's times start. */
#define SERVER_EPOCH_US INT64_C(946684800000000)

static const Oid element_types[] = {
	[COLUMN_TEXT] = 25,    [COLUMN_BIGINT] = 20, [COLUMN_INTEGER] = 23,
	[COLUMN_DOUBLE] = 701, [COLUMN_BOOL] = 16,   [COLUMN_TIME] = 1184,
};
static const Oid array_types[] = {
	[COLUMN_TEXT] = 1009,	[COLUMN_BIGINT] = 1016, [COLUMN_INTEGER] = 1007,
	[COLUMN_DOUBLE] = 1022, [COLUMN_BOOL] = 1000,	[COLUMN_TIME] = 1185,
};

void parameters_init(struct parameters *parameters)
{
	*parameters = (struct parameters){.failed = false};
	arena_init(&parameters->arena, ARENA_BYTES);
}

void parameters_release(struct parameters *parameters)
{
	arena_release(&parameters->arena);
}

static void add(struct parameters *parameters, Oid type, const void *value, size_t length)
{
	int i = parameters->count;

	if (i == PARAMETERS_MAX || length > INT32_MAX) {
		parameters->failed = true;
		return;
	}
	parameters->types[i] = type;
	parameters->values[i] = value;
	parameters->lengths[i] = (int)length;
	parameters->formats[i] = 1;
	parameters->count++;
}

static void add_copy(struct parameters *parameters, Oid type, const void *value, size_t length)
{
	char *copy = arena_strndup(&parameters->arena, value, length);

	parameters->failed |= !copy;
	add(parameters, type, copy, length);
}

void parameters_text(struct parameters *parameters, const char *text)
{
	add_copy(parameters, element_types[COLUMN_TEXT], text, strlen(text));
}

void parameters_integer(struct parameters *parameters, int64_t value)
{
	uint64_t wire = htobe64((uint64_t)value);

	add_copy(parameters, element_types[COLUMN_BIGINT], &wire, sizeof(wire));
}

void parameters_time(struct parameters *parameters, int64_t wall_us)
{
	uint64_t wire = htobe64((uint64_t)(wall_us - SERVER_EPOCH_US));

	if (wall_us == 0)
		add(parameters, element_types[COLUMN_TIME], NULL, 0);
	else
		add_copy(parameters, element_types[COLUMN_TIME], &wire, sizeof(wire));
}

static void put(struct column *column, const void *bytes, size_t length)
{
	if (column->parameters->failed)
		return;
	if (length > column->capacity - column->length) {
		size_t capacity = 2 * column->capacity + length;
		unsigned char *grown = arena_alloc(&column->parameters->arena, capacity);

		if (!grown) {
			column->parameters->failed = true;
			return;
		}
		memcpy(grown, column->bytes, column->length);
		column->bytes = grown;
		column->capacity = capacity;
	}
	memcpy(column->bytes + column->length, bytes, length);
	column->length += length;
}

static void put32(struct column *column, uint32_t value)
{
	uint32_t wire = htonl(value);

	put(column, &wire, sizeof(wire));
}

static void put64(struct column *column, uint64_t value)
{
	uint64_t wire = htobe64(value);

	put32(column, sizeof(wire));
	put(column, &wire, sizeof(wire));
}

void column_begin(struct column *column, struct parameters *parameters, enum column_type type,
		  size_t count)
{
	size_t capacity = 64 + count * 12;

	*column = (struct column){.parameters = parameters, .type = type, .count = count};
	column->bytes = arena_alloc(&parameters->arena, capacity);
	parameters->failed |= !column->bytes || count > INT32_MAX;
	column->capacity = capacity;
	put32(column, count > 0); /* dimensions */
	put32(column, 1);	  /* may hold NULLs */
	put32(column, element_types[type]);
	if (count > 0) {
		put32(column, (uint32_t)count);
		put32(column, 1); /* lower bound */
	}
}

void column_null(struct column *column)
{
	put32(column, UINT32_MAX);
}

void column_text(struct column *column, const char *text)
{
	size_t length = strlen(text);

	put32(column, (uint32_t)length);
	put(column, text, length);
}

void column_integer(struct column *column, int64_t value)
{
	unsigned char flag = value != 0;

	if (column->type == COLUMN_BIGINT) {
		put64(column, (uint64_t)value);
	} else if (column->type == COLUMN_INTEGER) {
		put32(column, sizeof(uint32_t));
		put32(column, (uint32_t)(int32_t)value);
	} else {
		put32(column, sizeof(flag));
		put(column, &flag, sizeof(flag));
	}
}

void column_double(struct column *column, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put64(column, bits);
}

void column_time(struct column *column, int64_t wall_us)
{
	if (wall_us == 0)
		column_null(column);
	else
		put64(column, (uint64_t)(wall_us - SERVER_EPOCH_US));
}

void column_end(struct column *column)
{
	add(column->parameters, array_types[column->type], column->bytes, column->length);
}

bool cell_is_null(const PGresult *result, int row, int column)
{
	return PQgetisnull(result, row, column) == 1;
}

int64_t cell_integer(const PGresult *result, int row, int column)
{
	uint64_t wide;
	uint32_t narrow;

	if (PQgetlength(result, row, column) == (int)sizeof(wide)) {
		memcpy(&wide, PQgetvalue(result, row, column), sizeof(wide));
		return (int64_t)be64toh(wide);
	}
	if (PQgetlength(result, row, column) == (int)sizeof(narrow)) {
		memcpy(&narrow, PQgetvalue(result, row, column), sizeof(narrow));
		return (int32_t)ntohl(narrow);
	}
	return 0;
}

double cell_double(const PGresult *result, int row, int column)
{
	uint64_t bits;
	double value;

	if (PQgetlength(result, row, column) != (int)sizeof(bits))
		return (double)NAN;
	memcpy(&bits, PQgetvalue(result, row, column), sizeof(bits));
	bits = be64toh(bits);
	memcpy(&value, &bits, sizeof(value));
	return value;
}

bool cell_bool(const PGresult *result, int row, int column)
{
	return PQgetlength(result, row, column) == 1 && *PQgetvalue(result, row, column) == 1;
}

int64_t cell_time(const PGresult *result, int row, int column)
{
	if (cell_is_null(result, row, column))
		return 0;
	return cell_integer(result, row, column) + SERVER_EPOCH_US;
}

const char *cell_text(const PGresult *result, int row, int column)
{
	return PQgetvalue(result, row, column);
}
