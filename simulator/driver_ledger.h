/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_LEDGER_H
#define VTS_DRIVER_LEDGER_H

/*
 * The ledger: what the driver really did, one line for each successful change of memory, written
 * with one write() before the call returns.  It is the oracle that a recorder is compared with.
 * VTRACE_SIM_LEDGER=FILE, "%p" is the process id.  The format is described in simulator/README.md.
 *
 * Needs the call mutex.
 */

#include "common/cuda_abi.h"

struct vts_ledger_entry {
	const char *op;	  /* alloc, free, map, ... */
	const char *kind; /* device, pool, vmm, ... */
	uint64_t pointer;
	uint64_t size_bytes;
	uint64_t handle; /* stream, physical handle or pool; 0 when there is none */
	CUdevice device; /* -1: host */
};

/* The driver function that the next lines name. */
void vts_ledger_set_function(const char *function);

void vts_ledger_write(const struct vts_ledger_entry *entry);

/* A free of something that was not live: only counted, for the summary. */
void vts_ledger_count_bad_free(uint64_t pointer);

/* Called by the first cuInit, so that a program without allocations leaves a ledger too. */
void vts_ledger_open(void);

#endif
