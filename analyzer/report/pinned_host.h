/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PINNED_HOST_H
#define VT_ANALYZER_PINNED_HOST_H

/* Page-locked host memory, which is no memory of a device: its most at once, and its rounding. */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/model/model.h"

struct vt_pinned_host {
	uint64_t peak_bytes;    /* 0: there was none */
	uint64_t rounded_bytes; /* of those in blocks whose size is a power of two */
	uint32_t nr_blocks;     /* at the peak */
	int64_t event;          /* of the peak */
	int is_torch;           /* some are of PyTorch's allocator, which rounds so */
};

struct vt_pinned_host vt_pinned_host_find(const struct vt_model *model);

/* A line, nothing below 1 MiB. */
void vt_pinned_host_print(const struct vt_pinned_host *pinned, FILE *out);
/* null where there was none. */
json_t *vt_pinned_host_json(const struct vt_pinned_host *pinned);

#endif
