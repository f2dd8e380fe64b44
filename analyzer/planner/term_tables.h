/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TERM_TABLES_H
#define VT_ANALYZER_TERM_TABLES_H

/*
 * What files of terms are read into (term_rules.h), once names are found (term_names.h).
 */

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/util.h"
#include "analyzer/attribution/rules/globs.h"
#include "analyzer/planner/plan.h"

/* X(ID, key) */
#define VT_TERM_TEXTS(X)                                                                           \
	X(IS, "is")                                                                                \
	X(NUMBER, "number")                                                                        \
	X(OWNER, "owner")                                                                          \
	X(WHY, "why")                                                                              \
	X(FORMULA, "formula")                                                                      \
	X(AT_LEAST, "at_least")                                                                    \
	X(AT_MOST, "at_most")                                                                      \
	X(BYTES, "bytes")                                                                          \
	X(LAYERS, "layers")                                                                        \
	X(TOKENS, "tokens")                                                                        \
	X(RECOMPUTED, "recomputed")

enum vt_term_text_id {
#define VT_TERM_TEXT_ID(id, key) VT_TERM_##id,
	VT_TERM_TEXTS(VT_TERM_TEXT_ID)
#undef VT_TERM_TEXT_ID
		VT_NR_TERM_TEXTS
};

/* What a name stands for. */
enum vt_term_reference_kind {
	VT_REFERENCE_NONE, /* no name: a text as it is */
	VT_REFERENCE_SETTING,
	VT_REFERENCE_FACT,
	VT_REFERENCE_VALUE,
};

struct vt_term_reference {
	enum vt_term_reference_kind kind;
	unsigned id; /* enum vt_setting, number of a fact, of a group */
};

/* A part of a text: characters, then what a name stands for. */
struct vt_term_piece {
	const char *text;
	size_t len;
	struct vt_term_reference then;
};

struct vt_term_text {
	char *text; /* as written; NULL: not there */
	unsigned line;
	unsigned nr; /* pieces */
	struct vt_term_piece *pieces;
};

enum vt_term_compare {
	VT_IS_GREATER,
	VT_IS_LESS,
	VT_IS_AT_LEAST,
	VT_IS_AT_MOST,
	VT_IS_EQUAL,
	VT_IS_UNEQUAL
};

struct vt_term_comparison {
	enum vt_term_compare compare;
	struct vt_term_text left, right;
};

/* Characters of the text that is read. */
struct vt_term_slice {
	const char *text;
	size_t len;
};

struct vt_term_condition {
	unsigned line;
	int is_negated;
	enum { VT_TERM_IS_ONE_OF, VT_TERM_IS_GIVEN, VT_TERM_WHERE } kind;
	struct vt_term_reference of; /* VT_TERM_IS_ONE_OF */
	struct vt_globs words;       /* ... of a value */
	int64_t *numbers;            /* ... of others; settings if given */
	unsigned nr_numbers;
	struct vt_term_comparison *comparison; /* VT_TERM_WHERE */
	struct vt_term_slice key, value;       /* while files are read: as written */
};

VT_VECTOR_DECLARE(vt_term_conditions, struct vt_term_condition);

#define VT_TERM_NO_CASE UINT_MAX

/* One section. */
struct vt_term_case {
	const char *file;
	unsigned line; /* of its first entry */
	unsigned next; /* of the same name; or VT_TERM_NO_CASE */
	unsigned first_condition, nr_conditions;
	struct vt_term_text texts[VT_NR_TERM_TEXTS];
	unsigned stages;
	enum vt_played_kind played;
};

VT_VECTOR_DECLARE(vt_term_cases, struct vt_term_case);

/* The sections of one name. */
struct vt_term_group {
	char *name;
	unsigned first, last; /* cases */
	int is_term;
	int is_plain;    /* a value: no text of it has a name in it */
	int is_used;     /* a value: something asks for it */
	int is_open;     /* its height is being measured */
	unsigned height; /* of values that it is made of, one behind another, and itself */
};

VT_VECTOR_DECLARE(vt_term_groups, struct vt_term_group);

struct vt_term_rules {
	struct vt_term_groups groups; /* in the order of the files, as are all */
	struct vt_term_cases cases;
	struct vt_term_conditions conditions;
	int is_own; /* a user's file */
};

#endif
