/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_NVTX_ANNOUNCE_H
#define VT_PRELOAD_NVTX_ANNOUNCE_H

/*
 * Makes NVTX in this process (and in programs that it starts) find us, unless another tool was
 * named before.  Sets an environment variable: to be called by the constructor, while there is one
 * thread.
 */
void vt_nvtx_announce(void);

#endif
