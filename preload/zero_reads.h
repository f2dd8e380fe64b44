/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_ZERO_READS_H
#define VT_PRELOAD_ZERO_READS_H

/*
 * Where a program on the simulated device last read values, which no kernel has computed: zeros.
 * If it then fails, one of these lines may be why.  The last ones are kept in memory, and written
 * only where the program ends with an error.
 */

#include <stdint.h>

/*
 * Called by the simulated driver, which finds it by this name, after it copied zeros to the host,
 * and by the simulator's operators whose size the device decides (0 bytes).  No lock of the driver
 * is held.
 */
void vtrace_zeros_read(uint64_t bytes);

/* Being out of memory says itself why the program fails: only what is read afterwards counts. */
void vt_zero_reads_forget(void);

/*
 * Writes what is kept, an event each, oldest first.  Returns how many.  Context: the program ends.
 */
unsigned int vt_zero_reads_write(void);

#endif
