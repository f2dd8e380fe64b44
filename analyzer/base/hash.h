/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HASH_H
#define VT_ANALYZER_HASH_H

/* Many numbers into one, so good that two different lists never meet. */

#include <stddef.h>
#include <stdint.h>

/* Hashes `value` after what `hash` is of; the finaliser is that of splitmix64. */
static inline uint64_t vt_hash_mix(uint64_t hash, uint64_t value)
{
	hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
	hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
	hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
	return hash ^ (hash >> 31);
}

/* Hashes the bytes of a text that need not end with 0. */
static inline uint64_t vt_hash_text(const char *text, size_t len)
{
	uint64_t hash = len;

	for (size_t i = 0; i < len; i++)
		hash = vt_hash_mix(hash, (unsigned char)text[i]);
	return hash;
}

#endif
