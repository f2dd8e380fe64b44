/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OWNER_ANSWERS_H
#define VT_ANALYZER_OWNER_ANSWERS_H

/*
 * What was found of owners, by their numbers: there are few of them, and millions of blocks that
 * are asked for theirs.
 */

#include <stdint.h>
#include <string.h>

#include "analyzer/base/util.h"

/* 0: not asked yet; what else they say is the asker's. */
VT_VECTOR_DECLARE(vt_owner_answers, uint8_t);

/* That of one owner, to be read or filled in; valid until the next call. */
static inline uint8_t *vt_owner_answers_of(struct vt_owner_answers *answers, uint32_t owner)
{
	size_t wanted = (size_t)owner + 1, before = answers->len;

	if (wanted > before) {
		vt_vector_reserve(answers, wanted);
		memset(answers->items + before, 0, wanted - before);
		answers->len = wanted;
	}
	return &answers->items[owner];
}

#endif
