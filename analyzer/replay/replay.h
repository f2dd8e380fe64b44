/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPLAY_H
#define VT_ANALYZER_REPLAY_H

/*
 * A trace played to the model of the allocator.  With the recorded settings it has to come to the
 * recorded segments and addresses, which is counted; with others it says what they would have
 * given.  A request that the model cannot serve ends the replay: the program would not have gone
 * on as recorded.
 */

#include "analyzer/replay/replay_types.h"

/* What was recorded, with nothing changed, left out or compared. */
void vt_replay_options_init(struct vt_replay_options *options, const struct vt_trace *trace);
void vt_replay_run(struct vt_replay *replay, const struct vt_trace *trace,
		   const struct vt_replay_options *options);

/* Whether a comparison found nothing. */
int vt_replay_is_exact(const struct vt_replay *replay);

#endif
