/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TORCH_OPERATORS_H
#define VT_PRELOAD_TORCH_OPERATORS_H

/*
 * What PyTorch's operators read and write: of each that is dispatched while observing is on
 * (torch_observing.h) its name, where it was called, and the device storages of its arguments and
 * results.
 */

/*
 * Adds the observer, where PyTorch is one that is known and VTRACE_OBSERVE does not forbid it.
 * Called once, when ranges are asked for.  Context: hook, journal open, outside the re-entry guard.
 */
void vt_torch_operators_start(void);

#endif
