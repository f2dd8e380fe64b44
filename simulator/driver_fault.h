/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_FAULT_H
#define VTS_DRIVER_FAULT_H

/*
 * Faults on request: VTRACE_SIM_FAULT=RULE[,RULE...], read once.  A rule is
 *
 *   FUNCTION:N=ERROR        the N-th call (from 1) returns ERROR
 *   FUNCTION:every=K=ERROR  each K-th call
 *   FUNCTION:>SIZE=ERROR    each call that asks for more than SIZE (2MiB, 4096, 1GiB)
 *
 * each with an optional ":delay=MICROSECONDS" at its end, spent before the call goes on.  ERROR 0
 * with a delay only delays.  A malformed rule is named on stderr and ignored.
 */

#include "common/cuda_abi.h"

/*
 * What the rules say about this call; CUDA_SUCCESS lets it go on.  Counts the call.  Thread-safe.
 */
CUresult vts_fault_check(const char *function, uint64_t size_bytes);

#endif
