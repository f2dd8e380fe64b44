/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_NOISE_H
#define VT_ANALYZER_NOISE_H

/*
 * How far the recordings of one side lie apart, where a side has several: the distance between the
 * least and the most of each figure, of the side where that is larger.  A difference between the
 * sides that is not larger says nothing.
 *
 * Runs that did not end well are no part of it: their figures cover only the part that ran.
 */

#include "analyzer/diff/compared.h"

/*
 * How far an owner's bytes at the moment, with all below it, lie apart in either side's recordings;
 * 0 with one recording a side.
 */
uint64_t vt_noise_of_owner(const struct vt_diff *diff, const struct vt_diff_device *device,
			   const char *owner, size_t len);

/*
 * What a block has that was too little to be cut off goes to whoever gets the block: where as much
 * was asked for, all of the difference is that, else 0.
 */
uint64_t vt_noise_uncut(const uint64_t *bytes, const uint64_t *asked);

/* Fills the noise of the device's totals, owners and places. */
void vt_noise_fill(const struct vt_diff *diff, struct vt_diff_device *device);

/* "equal runs differ by up to 7.00 MiB allocated, 20.00 MiB used": of these devices.  Free(). */
char *vt_noise_text(const struct vt_diff_device *devices, uint32_t nr);

#endif
