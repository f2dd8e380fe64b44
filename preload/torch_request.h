/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TORCH_REQUEST_H
#define VT_PRELOAD_TORCH_REQUEST_H

/*
 * What PyTorch's caching allocator was asked for: the size before it is rounded, and the stream.
 * Its own reports have the size of the block that came of it.
 *
 * Context of both: hook, in a report of the allocator, whose mutex the caller holds.
 */

#include <stdint.h>

/*
 * The size in bytes that this thread asked for since the last call, which is forgotten; 0 = not
 * known, as of all requests below 512 bytes.
 */
uint64_t vt_torch_request_take(void);

/*
 * The number of the calling thread's current stream on a device (c10::StreamId; 0 = the default
 * stream, and where it is not known).  Memory that was asked for with an explicit stream
 * (raw_alloc_with_stream) may belong to another one.  `caller` lies in the library that reports:
 * the function is looked for beside it.
 */
uint64_t vt_torch_request_stream(int8_t device, const void *caller);

#endif
