/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_CALL_H
#define VTS_DRIVER_CALL_H

/*
 * The door of every driver function: requested faults, "is the driver initialised", "has this
 * thread a context", and the one mutex that guards all state of the simulated driver.
 */

#include "common/cuda_abi.h"

enum vts_needs {
	VTS_NEEDS_NOTHING = 0,
	VTS_NEEDS_INIT = 1,
	VTS_NEEDS_CONTEXT = 2 | VTS_NEEDS_INIT,
	VTS_UNSAFE_IN_CAPTURE = 4, /* refused while a stream capture forbids it */
};

/*
 * Starts a call of FUNCTION.  size_bytes is what "fault above a size" looks at, 0 if the call has
 * none. Returns CUDA_SUCCESS with the mutex held, or the error to return with the mutex free.
 */
CUresult vts_call_enter(const char *function, unsigned int needs, uint64_t size_bytes);

/* Ends the call: frees the mutex and hands RESULT back. */
CUresult vts_call_leave(CUresult result);

/*
 * For cuInit, with the mutex held: CUDA_ERROR_NOT_INITIALIZED in the child of an initialised
 * parent.
 */
CUresult vts_call_set_initialised(void);

#define VTS_ENTER_AS(function, needs, size_bytes)                                                  \
	do {                                                                                       \
		CUresult vts_entered = vts_call_enter(function, needs, size_bytes);                \
		if (vts_entered)                                                                   \
			return vts_entered;                                                        \
	} while (0)
#define VTS_ENTER(needs) VTS_ENTER_AS(__func__, needs, 0)
#define VTS_ENTER_SIZED(needs, size_bytes) VTS_ENTER_AS(__func__, needs, size_bytes)

#endif
