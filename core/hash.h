/*
 * Hash: FNV-1a of 64 bits, byte by byte, so that it is the same on every machine. Calls go on from
 * the hash of what came before, beginning with HASH_START. Not for keys that somebody may choose to
 * collide where that would cost more than a comparison.
 */
#ifndef CORE_HASH_H
#define CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

static inline uint64_t hash_byte(uint64_t hash, unsigned char byte)
{
	return (hash ^ byte) * HASH_PRIME;
}

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < length; i++)
		hash = hash_byte(hash, at[i]);
	return hash;
}

/* With the terminator, so that ("a", "bc") and ("ab", "c") differ. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	do
		hash = hash_byte(hash, (unsigned char)*text);
	while (*text++);
	return hash;
}

#endif
