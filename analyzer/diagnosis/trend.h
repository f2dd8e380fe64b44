/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TREND_H
#define VT_ANALYZER_TREND_H

/*
 * Whether a row of byte counts, one per iteration, goes on growing.
 *
 * The slope is Theil's and Sen's: the median of the slopes of all pairs, which no single jump
 * moves.  It counts only where the row rose in each quarter and until the end (a cache that is
 * filled once rises and stops), at more than a few points (what a program makes at known events
 * gives plateaus), gave back little (a sawtooth falls), and nearly all pairs stand in order.
 */

#include <stdint.h>

#define VT_CONFIDENCES(X)                                                                          \
	X(NONE, "none") /* no growth */                                                            \
	X(MEDIUM, "medium") /* few iterations, uneven rise */                                     \
	X(HIGH, "high")

#define VT_CONFIDENCE_ENUM(name, text) VT_CONFIDENCE_##name,
enum vt_confidence { VT_CONFIDENCES(VT_CONFIDENCE_ENUM) VT_NR_CONFIDENCES };
#undef VT_CONFIDENCE_ENUM

extern const char *const vt_trend_confidences[VT_NR_CONFIDENCES];

#define VT_TREND_MIN_POINTS 4
#define VT_TREND_MAX_POINTS 64

struct vt_trend {
	double slope;	    /* bytes per point */
	double noise;	    /* median distance of the points from the line, in bytes */
	double consistency; /* pairs that rise less those that fall, of those that differ */
	uint32_t nr_points;
	enum vt_confidence confidence;
};

/*
 * Of at most VT_TREND_MAX_POINTS values.  Slope, noise and consistency are filled in only where
 * there is growth.
 */
struct vt_trend vt_trend_find(const uint64_t *values, uint32_t nr);

#endif
