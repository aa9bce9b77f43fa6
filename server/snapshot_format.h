/*
 * The snapshot's format on disk: header, table of strings, then the rows: epoch and clock, offers,
 * providers, unmapped spellings. Shared by snapshot_save.c and snapshot_load.c alone.
 *
 * Everything is little-endian and of fixed width, strings by their number in the table. Shapes and
 * lists are not written: they are built again, by the facts of the program that reads. The checksum
 * covers all that follows it. Raise the format with any change: another program then refuses the
 * file and starts without it.
 */
#ifndef SERVER_SNAPSHOT_FORMAT_H
#define SERVER_SNAPSHOT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define SNAPSHOT_MAGIC "gpupick\n"
#define SNAPSHOT_MAGIC_BYTES 8
#define SNAPSHOT_FORMAT 2
/* Magic, format (4), bytes that follow the header (8), their checksum (8). */
#define SNAPSHOT_HEADER_BYTES (SNAPSHOT_MAGIC_BYTES + 4 + 8 + 8)

/* FNV-1a, 64 bits. */
static inline uint64_t snapshot_checksum(const unsigned char *bytes, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
