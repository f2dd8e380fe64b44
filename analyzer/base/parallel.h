/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PARALLEL_H
#define VT_ANALYZER_PARALLEL_H

/* Pieces of work that do not depend on each other, on as many processors as there are. */

#include <stddef.h>

/* May run in any thread, beside others of the same call; what two of them change is not shared. */
typedef void (*vt_parallel_fn)(void *context, size_t number);

/* Calls `work` for each number below `nr`; returns when all are done. */
void vt_parallel_run(size_t nr, vt_parallel_fn work, void *context);

#endif
