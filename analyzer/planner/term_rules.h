/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TERM_RULES_H
#define VT_ANALYZER_TERM_RULES_H

/*
 * The terms of plans as data: reads files of them (terms/ is built in) into tables.  This file
 * defines the grammar, which is that of the rules for owners (attribution/rules/rules.h); terms.h
 * makes the terms of one plan.
 *
 * 	[value NAME]   conditions; is = TEXT, or number = FORMULA
 * 	[term NAME]    conditions; owner, why, and
 * 	               stages, played, formula [, at_least, at_most], or
 * 	               bytes [, layers, tokens, recomputed]: what layers keep for backward
 * 	[include]      "terms = default": the built-in files are included here
 *
 * Of several sections with the same name the first whose conditions all hold counts; where none
 * does, a term is not there and a value is empty.
 *
 * 	KEY = WORD WORD...      a condition: a setting as on the command line, a fact of the model
 * 	                        (term_facts.h) or a value is one of these words; "*": any, "-":
 * 	                        empty (values only); "not_KEY" negates it
 * 	given = SETTING...      one of these settings was given by the user
 * 	where = FORMULA > FORMULA    and < >= <= == !=
 *
 * "{NAME}" in a text stands for a value, a fact or a setting.
 */

#include <stddef.h>

#include "analyzer/base/diag.h"
#include "analyzer/planner/term_tables.h"

/*
 * Reads the text of a file; `name`, which must stay, is for messages.  Returns 0, or -1 with file,
 * line and error in `diag` (exit code 3).  Call vt_term_rules_release in both cases.
 */
int vt_term_rules_parse(struct vt_term_rules *rules, const char *name, const char *text, size_t len,
			struct vt_diag *diag);
/* Those of the file at `path`, which must stay. */
int vt_term_rules_load(struct vt_term_rules *rules, const char *path, struct vt_diag *diag);
void vt_term_rules_release(struct vt_term_rules *rules);

/* The built-in ones, read when they are first asked for. */
const struct vt_term_rules *vt_term_rules_default(void);

#endif
