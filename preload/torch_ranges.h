/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TORCH_RANGES_H
#define VT_PRELOAD_TORCH_RANGES_H

/*
 * Named ranges of PyTorch: record_function() in the program, and those that PyTorch opens itself
 * around Optimizer.step, zero_grad, DataLoader iterations and DistributedDataParallel.forward.
 */

/*
 * Asks PyTorch (1.13 or later) to tell us about ranges; does it once, when the journal is open, and
 * costs a load afterwards.  Context: hook, outside the re-entry guard.
 */
void vt_torch_ranges_start(void);

#endif
