/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_MODULES_H
#define VT_PRELOAD_MODULES_H

/*
 * Which ELF objects are loaded where.  dlopen is not hooked (that would break the search paths of
 * its callers); the dynamic loader counts what it loads and unloads, and we look at its counters.
 *
 * Context: hook, journal open.  Any thread; if two come at once, one of them does the work.
 */

/*
 * Writes a record for every object that was not loaded at the last call, and one for the place of
 * each that is no longer.  Returns 1 if objects have been unloaded since then (code addresses may
 * have changed their meaning), else 0.
 */
int vt_modules_update(void);

/* Forgets what has been written; called when a journal opens, before any other use. */
void vt_modules_reset(void);

#endif
