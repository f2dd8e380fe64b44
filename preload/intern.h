/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_INTERN_H
#define VT_PRELOAD_INTERN_H

/*
 * Strings become numbers, once: the first use writes a string record, later uses find its id
 * without a lock. Ids belong to the open journal (0 = none) and are void in a fork child.
 *
 * Context: hook, journal open (vt_tracker_is_active).  Any thread.  Two threads that meet the same
 * new text may write it under two ids.
 */

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the id of the text, or 0 if len is 0 or nothing can be recorded.  Longer text is cut at
 * 4096 bytes.
 */
uint32_t vt_intern_string(const char *text, size_t len);

/* The same for names of the program's objects, of which there may be a hundred thousand. */
uint32_t vt_intern_name(const char *text, size_t len);

/* Forgets everything; called when a journal opens, before any other use. */
int vt_intern_reset(void);

#endif
