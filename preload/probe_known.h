/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PROBE_KNOWN_H
#define VT_PRELOAD_PROBE_KNOWN_H

/*
 * What the journal says already, so that a probe writes only what is new: a tensor whose storage
 * has not been freed since it was written under the same name, a module that was the last one
 * written for its address.
 *
 * Which storages were freed since the last probe is a set of bits, one per hash of an address: a
 * storage that shares its bit with a freed one is written again, one that was freed always is.
 *
 * Threads: frees are noted by any thread, without a lock; all else by one at a time (the GIL).
 */

#include <stdint.h>

#include "preload/ids.h"

/* An address was freed or unmapped.  Context: hook. */
void vt_probe_known_note_free(uint64_t address);

/*
 * A probe begins or ends; frees between belong to the next one.  The first of a recording forgets
 * everything.  Returns 0 or -ENOMEM.
 */
int vt_probe_known_begin(void);
void vt_probe_known_end(void);

/* Whether what `key` was hashed from was kept under `address`, which was not freed since. */
int vt_probe_known_has_tensor(uint64_t address, const struct vt_key *key);
void vt_probe_known_keep_tensor(const struct vt_key *key);

/*
 * What was written last for an address, or another number: whether anything was, whether `key` is
 * it.  It is kept once the journal has it: what did not fit is written again.
 */
int vt_probe_known_has_place(uint64_t address);
int vt_probe_known_is_last(uint64_t address, const struct vt_key *key);
void vt_probe_known_keep_last(uint64_t address, const struct vt_key *key);

#endif
