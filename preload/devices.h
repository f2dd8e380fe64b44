/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_DEVICES_H
#define VT_PRELOAD_DEVICES_H

/*
 * Facts about devices: which one a thread's context is on, what it is, and how much of it is in
 * use: right after this program's first allocation there, and now and then after later ones.
 *
 * These are the only driver calls that we make and the program did not.  All are queries of the
 * calling thread: cuCtxGetDevice reads thread-local state and is allowed during stream capture.
 * The rest runs right after an allocation that succeeded.
 *
 * Context: hook, outside the real call.  Any thread.
 */

#include <stdint.h>

#include "common/cuda_abi.h"

/* Ordinal of the device of the calling thread's context, -1 if there is none. */
int vt_devices_current(void);

/*
 * Whether the program sees more than one device, so that it matters on which it has a context.  0
 * where the driver does not say.
 */
int vt_devices_are_several(void);

/* Handle of the calling thread's context, 0 if there is none: what memory is freed with. */
uint64_t vt_devices_context(void);

/*
 * Size of the memory that begins at a device address which was just given out, 0 where the driver
 * does not say.
 */
uint64_t vt_devices_range_bytes(CUdeviceptr address);

/*
 * A stream begins (+1) or ends (-1) to capture.  While none does, nobody has to be asked for the
 * next: the graph that `stream` records into, 0 if it does not.
 */
void vt_devices_count_captures(int change);
int vt_devices_are_capturing(void);
uint64_t vt_devices_captured_graph(CUstream stream);

/*
 * Call after an allocation or a context on `device` was recorded: the first time writes the
 * device's description and, once the thread's context is on it and `stream` (NULL: no stream at
 * all) is not capturing, a memory_info event.  With that, used bytes - recorded bytes at this
 * instant = context, libraries and other processes.  The next one is due when an eighth more was
 * allocated than by then; `size_bytes` is what was.
 */
void vt_devices_note(int device, CUstream stream, uint64_t size_bytes);

/*
 * A memory_info event of the thread's device now, where one may be had: before and after what takes
 * memory that no call says the size of.
 */
void vt_devices_measure(void);

#endif
