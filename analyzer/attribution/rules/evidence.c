/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/rules/evidence.h"

#define TEXT(name, text) text,

const char *const vt_evidence_stages[VT_NR_STAGES] = { VT_STAGES(TEXT) };
const char *const vt_evidence_provenances[VT_NR_PROVENANCES] = { VT_PROVENANCES(TEXT) };
const char *const vt_evidence_lifetimes[VT_NR_LIFETIMES] = { VT_LIFETIMES(TEXT) };
const char *const vt_evidence_heads[VT_NR_HEADS] = { VT_HEADS(TEXT) };
const char *const vt_evidence_yields[VT_NR_YIELDS] = { VT_YIELDS(TEXT) };
const char *const vt_evidence_grad_modes[VT_NR_GRAD_MODES] = { VT_GRAD_MODES(TEXT) };
const char *const vt_evidence_repeats[VT_NR_REPEATS] = { VT_REPEATS(TEXT) };
const char *const vt_evidence_releasers[VT_NR_RELEASERS] = { VT_RELEASERS(TEXT) };
const char *const vt_evidence_moved[VT_NR_MOVED] = { VT_MOVED(TEXT) };
const char *const vt_evidence_sources[VT_NR_SOURCES] = { VT_SOURCES(TEXT) };
const char *const vt_evidence_purposes[VT_NR_PURPOSES] = { VT_PURPOSES(TEXT) };
const char *const vt_evidence_programs[VT_NR_PROGRAMS] = { VT_PROGRAMS(TEXT) };
const char *const vt_evidence_flags[VT_NR_FLAGS] = { VT_FLAGS(TEXT) };
const char *const vt_evidence_things[VT_NR_THINGS] = { VT_THINGS(TEXT) };
const char *const vt_evidence_updates[VT_NR_UPDATES] = { VT_UPDATES(TEXT) };
const char *const vt_evidence_shape_classes[VT_NR_SHAPE_CLASSES] = { VT_SHAPE_CLASSES(TEXT) };
const char *const vt_evidence_alike[VT_NR_ALIKE] = { VT_ALIKE(TEXT) };
const char *const vt_evidence_shares[VT_NR_SHARES] = { VT_SHARES(TEXT) };
