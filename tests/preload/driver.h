/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PRELOAD_DRIVER_H
#define TESTS_PRELOAD_DRIVER_H

#include "common/cuda_abi.h"

/* What the driver of driver.c answers. */
#define DRIVER_ERRNO 77
#define DRIVER_TOTAL_BYTES ((size_t)1 << 36)
#define DRIVER_FREE_BYTES ((size_t)1 << 35)
#define DRIVER_BAD_ADDRESS 0xbad0000u	/* cuMemFree refuses it */

#define DRIVER_CONTEXT ((CUcontext)0xc0de)	/* of every thread, and primary */
#define DRIVER_OTHER_CONTEXT ((CUcontext)0xc1de)	/* the only one that can be destroyed */
#define DRIVER_BAD_DEVICE 5			/* cannot be reset */

#define DRIVER_DEVICES "DRIVER_DEVICES" /* variable: how many there are; 1 without it */

/* Calls that reached the driver, of functions that the recorder hooks. */
unsigned int driver_nr_calls(void);

/* Has the next cuMemFree call this first; it need not return. */
void driver_call_in_free(void (*callback)(void));

#endif
