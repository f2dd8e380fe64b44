/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RULES_H
#define VT_ANALYZER_RULES_H

/*
 * What bytes are called, as data: reads a rule file (rules.ini is the one built in) into
 * tables.  This file knows the grammar; matching facts against the tables is match.h.
 *
 * 	[stage NAME]   which frames and ranges show that the program is in that stage
 * 	[kind NAME]    what "{kind}" in an owner stands for: module classes, operators, nodes
 * 	[loss]         autograd nodes and operators that consume logits
 * 	[normaliser]   what does so too, outside of all modules but the outermost
 * 	[product]      the matrix products
 * 	[token_model]  module classes of models of tokens
 * 	[choice]       operators that choose a token by its scores
 * 	[copy]         operators that copy what they are given, once or several times
 * 	[join]         operators that put tensors together
 * 	[data]         operators that bring data to the device, or make it up there
 * 	[passing]      modules and operators that make what their input was, a little changed
 * 	[plumbing]     operators that serve other operators
 * 	[include]      "rules = default": the built-in file stands here
 * 	[rule NAME]    conditions, owner, leaf, known_by, reason
 *
 * The first rule whose every condition holds decides; of several [loss], [product], [token_model]
 * and [plumbing] the last one counts.
 *
 * The value of a condition is a list of patterns, one of which must fit; "not_KEY" turns it round.
 */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/attribution/rules/evidence.h"
#include "analyzer/attribution/rules/fact_table.h"
#include "analyzer/attribution/rules/globs.h"

struct vt_condition {
	uint8_t fact;    /* enum vt_fact */
	uint8_t compare; /* enum vt_compare */
	uint8_t is_negated;
	uint32_t words; /* bit per allowed word */
	uint64_t bytes;
	struct vt_globs globs;
	uint32_t id; /* counts all conditions of all rules */
};

struct vt_rule {
	char *name;
	char *owner; /* path; "{kind}" stands for the kind of what made it, "{variable}" for what
			holds it, "{place}" for what the stacks say of programs without PyTorch,
			"{holder}" for the owner that a snapshot states */
	char *leaf;  /* what the path goes on with where single blocks are named: "{name}",
			"{parameter}" whose gradient it is; or NULL */
	char *reason;
	uint8_t provenance; /* enum vt_provenance */
	struct vt_condition *conditions;
	unsigned nr_conditions;
};

struct vt_kind_rule {
	char *name;
	struct vt_globs module;
	struct vt_globs op;
	struct vt_globs node;
	struct vt_globs weak_module; /* decides where nothing else does */
	struct vt_globs beside; /* modules and operators that belong to a neighbour of this kind */
};

struct vt_stage_rule {
	uint8_t stage; /* enum vt_stage */
	struct vt_globs scope;
	struct vt_globs frame;
	struct vt_globs method;
	struct vt_globs op; /* operators, in programs without modules that train nothing */
};

/* Autograd nodes and operators that mean the same. */
struct vt_operation_set {
	struct vt_globs node;
	struct vt_globs op;
	struct vt_globs module; /* and module classes that do nothing else */
};

struct vt_rules {
	struct vt_rule *rules;
	unsigned nr_rules;
	struct vt_kind_rule *kinds;
	unsigned nr_kinds;
	struct vt_stage_rule *stages;
	unsigned nr_stages;
	struct vt_operation_set loss;
	struct vt_operation_set normaliser; /* losses, where only a program's own code has them */
	struct vt_operation_set product;
	struct vt_globs token_model; /* module classes that show that a model reads tokens */
	struct vt_globs choice;      /* operators that choose among scores */
	struct vt_operation_set passing; /* what hands on what it is given, a little changed */
	struct vt_globs copy;        /* operators that copy, once or several times */
	struct vt_globs join;        /* operators that put tensors together */
	struct vt_globs data;        /* operators that bring data to the device, or make it up */
	struct vt_globs plumbing;    /* operators that only get memory for another operator */
	uint32_t nr_conditions;
};


/*
 * Reads a rule file's text; `name` is for messages.  Returns 0, or -1 with `diag` filled with file,
 * line and what is wrong (exit code 3).  vt_rules_release is to be called in both cases.
 */
int vt_rules_parse(struct vt_rules *rules, const char *name, const char *text, size_t len,
		   struct vt_diag *diag);
/* The built-in rules, or those of the file at `path` where it is not NULL. */
int vt_rules_load(struct vt_rules *rules, const char *path, struct vt_diag *diag);
void vt_rules_release(struct vt_rules *rules);

#endif
