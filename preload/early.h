/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_EARLY_H
#define VT_PRELOAD_EARLY_H

/*
 * Marks that come before the recording: kept in static memory, because a program that never
 * allocates on a device must stay untouched, and written when the recording opens.  What is kept is
 * little: the first 32 points, and 32 ranges that are still open (one that ends earlier held no
 * allocation and is forgotten).
 *
 * Context: hook, any thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/journal_format.h"

/* Represents a range in vt_thread.scope until the recording opens; ids of strings are smaller. */
#define VT_EARLY_SCOPE 0x80000000u

/*
 * Keeps a point or the beginning of a range.  Returns VT_EARLY_SCOPE + its place, 0 if there is
 * none.
 */
uint32_t vt_early_keep(enum vt_mark_kind kind, enum vt_mark_source source, const char *name,
	size_t len, uint32_t thread);

/* Forgets a range that ended; `scope` is what vt_early_keep returned. */
void vt_early_drop(uint32_t scope);

/* Writes what is kept, in the order of time.  Context: by the opener, journal open. */
void vt_early_write(void);

/* The string id of a range that was written, 0 if it was not. */
uint32_t vt_early_id(uint32_t scope);

/* Forgets everything: another recording before this one has written it. */
void vt_early_reset(void);

#endif
