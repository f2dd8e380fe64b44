/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TORCH_RANGES_H
#define VT_PRELOAD_TORCH_RANGES_H

/*
 * Named ranges of PyTorch: record_function() in the program, and those that PyTorch opens itself
 * around Optimizer.step, zero_grad, DataLoader iterations and DistributedDataParallel.forward.
 */

/* Not for others. */
extern int vt_torch_ranges_started __attribute__((visibility("hidden"))); /* atomic */
void vt_torch_ranges_begin(void);

/*
 * Asks PyTorch (1.13 or later) to report ranges to us, and about operators; does it once, when the
 * journal is open, and costs a load afterwards.  Context: hook, outside the re-entry guard.
 */
static inline void vt_torch_ranges_start(void)
{
	if (!__atomic_load_n(&vt_torch_ranges_started, __ATOMIC_RELAXED))
		vt_torch_ranges_begin();
}

#endif
