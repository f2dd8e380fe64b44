/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CLOCK_H
#define VT_ANALYZER_CLOCK_H

#include <stdint.h>

/* For deadlines and pauses: CLOCK_MONOTONIC, which nobody sets, as the recorder's times are. */
uint64_t vt_clock_ns(void);
/* CLOCK_REALTIME, to compare with another program's. */
uint64_t vt_clock_realtime_ns(void);
/* What this process has taken of all processors. */
uint64_t vt_clock_processor_ns(void);

#endif
