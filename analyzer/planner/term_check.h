/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TERM_CHECK_H
#define VT_ANALYZER_TERM_CHECK_H

#include "analyzer/base/diag.h"
#include "analyzer/planner/term_tables.h"

/*
 * Looks for sections without the keys that they need, and values that are made of themselves, once
 * names are found.  0, or -1 with `diag` (or NULL) filled.
 */
int vt_term_check_sections(struct vt_term_rules *rules, struct vt_diag *diag);

/* 0, or -1 with `diag` filled: a formula has a name that is none of the symbols. */
int vt_term_check_symbols(const struct vt_term_rules *rules, const struct vt_symbols *symbols,
			  struct vt_diag *diag);

#endif
