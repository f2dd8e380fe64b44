/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STEP_NOISE_H
#define VT_ANALYZER_STEP_NOISE_H

/*
 * How far the peaks of a run's later training steps lie apart, in what was asked for: what blocks
 * are larger by differs from step to step while the program does the same.
 */

#include <stdint.h>

#include "analyzer/analysis/analysis.h"

/* Bytes on the device; 0 where the steps are so different that it is no noise. */
uint64_t vt_step_noise_of(const struct vt_analysis *analysis, int device);

#endif
