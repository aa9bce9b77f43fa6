/*
 * The snapshot's format on disk: header, table of strings, then the rows: epoch and clock, offers,
 * those that left, providers, unmapped spellings. Shared by snapshot_save.c and snapshot_load.c
 * alone.
 *
 * Everything is little-endian and of fixed width, strings by their number in the table. Shapes and
 * lists are not written: they are built again, by the facts of the program that reads. The checksum
 * (core/hash.h) covers all that follows it. Raise the format with any change: another program then
 * refuses the file and starts without it.
 */
#ifndef SERVER_SNAPSHOT_FORMAT_H
#define SERVER_SNAPSHOT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define SNAPSHOT_MAGIC "gpupick\n"
#define SNAPSHOT_MAGIC_BYTES 8
#define SNAPSHOT_FORMAT 5
/* Magic, format (4), bytes that follow the header (8), their checksum (8). */
#define SNAPSHOT_HEADER_BYTES (SNAPSHOT_MAGIC_BYTES + 4 + 8 + 8)

#endif
