/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_POOLS_H
#define VT_PRELOAD_POOLS_H

/*
 * What memory pools hold from the device, and what the device holds for graphs' memory nodes: both
 * keep memory after it was freed, and give it back at moments that they choose.  A pool is
 * followed from the first allocation from it on; it is asked at each event of the driver and after
 * each synchronisation, and what it holds is recorded when that has changed (a memory_info event,
 * before the event that it was asked for).
 *
 * The question, cuMemPoolGetAttribute, makes captures invalid whose mode forbids it: it is not
 * asked while any stream captures, and the thread's own mode is relaxed around it, so that it does
 * no harm to a capture that begins meanwhile.  Pools beyond the first 64 are not followed.
 *
 * Context: hook, outside the real call.  Any thread, no lock held; of two threads that ask at once
 * the earlier answer may be recorded last, until the next question.
 */

#include <stdint.h>

/*
 * An allocation from `pool` (0: the device's current one) succeeded and is about to be recorded.
 * Returns the pool's handle, 0 where the driver does not say.
 */
uint64_t vt_pools_follow(uint64_t pool, int device);
/* The same for memory that is a graph's. */
void vt_pools_follow_graphs(int device);

/* Asks all that are followed; one load where there are none. */
void vt_pools_look(void);

/*
 * Before a call that destroys `pool` (0: any of them): from here on nobody asks it.  Threads that
 * are asking are waited for, at most 100 ms in all; then a question may still reach the destroyed
 * pool, and its place is not used again.  Returns what vt_pools_settle() is to be given after the
 * call: where that was refused, the pools are followed as before.  What a destroyed pool still
 * holds goes with the last allocation from it.
 */
uint64_t vt_pools_take_out(uint64_t pool);
void vt_pools_settle(uint64_t places, int are_gone);

#endif
