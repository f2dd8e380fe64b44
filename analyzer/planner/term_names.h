/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TERM_NAMES_H
#define VT_ANALYZER_TERM_NAMES_H

#include "analyzer/base/diag.h"
#include "analyzer/planner/term_tables.h"

/*
 * Finds what the names in conditions and texts stand for, once all files are read.  0, or -1 with
 * `diag` (or NULL) filled.
 */
int vt_term_names_resolve(struct vt_term_rules *rules, struct vt_diag *diag);

#endif
