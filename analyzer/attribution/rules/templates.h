/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TEMPLATES_H
#define VT_ANALYZER_TEMPLATES_H

/*
 * The paths that rules give, with at most one "{WORD}" in them: which words there are.  What
 * stands in their place for one block is attribution.c's.
 */

/* NULL is one too: a rule without a leaf. */
int vt_templates_is_valid(const char *text);

#endif
