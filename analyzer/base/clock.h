/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CLOCK_H
#define VT_ANALYZER_CLOCK_H

/* Time for deadlines and pauses: nobody sets this clock. */

#include <stdint.h>

/* CLOCK_MONOTONIC, as the recorder's times are. */
uint64_t vt_clock_ns(void);
/* What this process has taken of all processors. */
uint64_t vt_clock_processor_ns(void);

#endif
