/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ENGINE_H
#define VT_ANALYZER_ENGINE_H

/*
 * Whether a program is a serving engine (engines.def), by code of its own that was on a stack, and
 * what a finding says to who started it: the engine's flags.  Such an engine takes as much of the
 * card as it was told to; what a change frees goes to its cache.
 */

#include "analyzer/diagnosis/finding_ids.h"
#include "analyzer/model/model.h"

struct vt_engine;

/* NULL: none that is known. */
const struct vt_engine *vt_engine_of(const struct vt_model *model);
/* NULL: no flag of the engine is about it. */
const char *vt_engine_flag(const struct vt_engine *engine, enum vt_finding_id id);

#endif
