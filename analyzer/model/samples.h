/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SAMPLES_H
#define VT_ANALYZER_SAMPLES_H

/*
 * What of a device is in use without an allocation that we know: the program's own context (with
 * the code of kernels and libraries, what the driver rounds up), and other processes.
 *
 *  S1  Samples have a time and no event number: only one that says the same as the one before, with
 *      no allocation or free of the driver between them or shortly before it, is compared with
 *      what was recorded by then.
 *  S2  The last sample by a moment speaks for it, before the first one that one.
 *  S3  cuMemGetInfo is the driver's word for the device, from the last change before it until the
 *      next word: what it says beyond what was recorded, the context and other processes is a
 *      difference, unless a sample of S2 is newer.  What other processes, then the context, have
 *      more in the next sample than in the last is theirs already, as far as the difference goes.
 *  S4  Memory of cuMemAlloc takes pages of 2 MiB, which small allocations share.  What these have
 *      beyond the allocations is counted as far as the driver's first figure allows.
 *  S5  Where processes are not distinguished, the context is what the recorder measured after the
 *      first allocation, which has the others in it.
 */

#include "analyzer/model/model.h"

struct vt_outside {
	uint64_t context_bytes;
	uint64_t other_bytes;
	uint64_t rounding_bytes;  /* S4 */
	int64_t difference_bytes; /* S3 */
	uint8_t has_context;
	uint8_t has_other; /* other processes are distinguished from the context */
};

/*
 * Fills in what the samples are compared with, and takes from the devices' contexts what is the
 * driver's rounding.
 */
void vt_samples_find(struct vt_model *model);

struct vt_outside vt_samples_at(const struct vt_model *model, int device, int64_t time_ns);
/* All of it. */
uint64_t vt_samples_sum(const struct vt_outside *outside);
/*
 * What is in use at that time, with `recorded_bytes` held from the driver: of the device, and of it
 * by the process.  Every command says these figures.
 */
uint64_t vt_samples_device_used(const struct vt_model *model, int device, uint64_t recorded_bytes,
				int64_t time_ns);
uint64_t vt_samples_process_used(const struct vt_model *model, int device, uint64_t recorded_bytes,
				 int64_t time_ns);
/* Whether something of it may be another at the second time, the later one, than at the first. */
int vt_samples_is_other(const struct vt_model *model, int64_t first_ns, int64_t second_ns);
/* The first and the last that is known of the whole run; returns 0 where there is nothing. */
int vt_samples_context_growth(const struct vt_model *model, int device, uint64_t *first_bytes,
			      uint64_t *last_bytes);

#endif
