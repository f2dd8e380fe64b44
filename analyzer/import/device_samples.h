/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DEVICE_SAMPLES_H
#define VT_ANALYZER_DEVICE_SAMPLES_H

/*
 * Asks NVML now and then, while the program runs, how much of its devices everybody and the program
 * itself use, and adds rows to the table device_sample where that changed.  Devices are known by
 * the UUIDs that the recording has.
 */

#include <stdint.h>

#include "analyzer/database/db.h"

struct vt_device_samples;

/* NULL is fine everywhere.  The database must outlive it. */
struct vt_device_samples *vt_device_samples_open(struct vt_db *db, uint32_t pid);
void vt_device_samples_close(struct vt_device_samples *samples);

/*
 * To be called often, outside of a transaction: asks no more often than makes sense, and soon again
 * after a change.  What fails is left out.
 */
void vt_device_samples_take(struct vt_device_samples *samples);

#endif
