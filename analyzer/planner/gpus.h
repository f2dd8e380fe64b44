/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GPUS_H
#define VT_ANALYZER_GPUS_H

/*
 * Cards as the planner sees them: those of simulator/profiles.ini, or one of the user's.
 */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/diag.h"

struct vt_gpu {
	char name[32];
	char device[64];        /* as its driver calls it; "": not known */
	uint64_t usable_bytes;  /* what contexts and allocations can take together */
	uint64_t vendor_bytes;  /* as sold: 80 GB; 0 if the name does not say */
	uint64_t context_bytes; /* 0: not known */
	uint64_t cublas_bytes;  /* of one handle and stream in PyTorch */
	unsigned capability;    /* 90 = 9.0, 0: not known */
	unsigned nr_sms;        /* multiprocessors, 0: not known */
	unsigned sm_threads;    /* that run on one of them at once, 0: not known */
};

/* 0 with *gpu filled, or -1 where there is none of that name. */
int vt_gpus_find(const char *name, struct vt_gpu *gpu);
/* ... of the name that a driver gives it ("NVIDIA H200"). */
int vt_gpus_find_device(const char *device, struct vt_gpu *gpu);
/* The `place`-th card, from the smallest on: 0 with *gpu filled, or -1 behind the last one. */
int vt_gpus_at(size_t place, struct vt_gpu *gpu);

/* "NAME[,key=value...]" or "FILE.ini[,key=value...]", as --simulate; -1 with `diag` filled. */
int vt_gpus_choose(const char *choice, struct vt_gpu *gpu, struct vt_diag *diag);

/* A card of that many bytes, of which nothing else is known. */
void vt_gpus_plain(struct vt_gpu *gpu, uint64_t bytes);

#endif
