/* SPDX-License-Identifier: MIT */
/*
 * All functions that are not simulated: they exist, say so once (VTRACE_SIM_VERBOSE=1) and answer
 * CUDA_ERROR_NOT_SUPPORTED.  Whatever they are called with stays untouched.
 */
#include "common/cuda_abi.h"

#include <stdatomic.h>
#include <stdio.h>

#include "simulator/verbose.h"

static CUresult refuse(const char *symbol, atomic_flag *is_told)
{
	if (vts_is_verbose() && !atomic_flag_test_and_set(is_told))
		fprintf(stderr, "vtrace simulator: %s is not simulated\n", symbol);
	return CUDA_ERROR_NOT_SUPPORTED;
}

#define VTS_ABSENT(name, since, symbol)                                                            \
	__attribute__((visibility("default"))) CUresult symbol(void);                              \
	CUresult symbol(void)                                                                      \
	{                                                                                          \
		static atomic_flag is_told = ATOMIC_FLAG_INIT;                                     \
\
		return refuse(#symbol, &is_told);                                                  \
	}
#include "simulator/driver_absent.def"
