/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SAVINGS_REPLAY_H
#define VT_ANALYZER_SAVINGS_REPLAY_H

/*
 * The peaks that a run would have had with the savings of a finding: the recorded requests, without
 * the relieved bytes, played to the model of the caching allocator with the recorded settings.  Of
 * allocated bytes too: up to 1 MiB at the end of each block depends on where the blocks lie.
 */

#include "analyzer/diagnosis/savings.h"
#include "analyzer/replay/traces.h"

/*
 * Returns 0 and fills `replay`, whose peaks compare with those of vt_traces_recorded; -1 where a
 * saving belongs to no block of the device's allocator, or the replay cannot serve a request.
 * Does not change `ready`: several may run at a time.  Releases the savings, of which there may be
 * millions.
 */
int vt_savings_replay(const struct vt_trace_ready *ready, struct vt_savings *savings,
		      struct vt_replay *replay);

#endif
