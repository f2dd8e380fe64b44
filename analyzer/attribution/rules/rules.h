/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RULES_H
#define VT_ANALYZER_RULES_H

/*
 * The rules that assign owners, as data: reads a rule file (rules.ini is built in) into tables.
 * This file defines the grammar; match.h matches facts against the tables.
 *
 * 	[stage NAME]   frames and ranges that identify that stage
 * 	[kind NAME]    a value of "{kind}" in an owner: module classes, operators, nodes
 * 	[loss]         autograd nodes and operators that consume logits
 * 	[normaliser]   the same, but only outside of all modules except the outermost
 * 	[product]      matrix products
 * 	[token_model]  module classes of models that read tokens
 * 	[choice]       operators that choose a token by its scores
 * 	[copy]         operators that copy their input, once or several times
 * 	[join]         operators that join tensors
 * 	[data]         operators that bring data to the device, or create it there
 * 	[passing]      modules and operators whose output is their input, slightly changed
 * 	[plumbing]     operators that serve other operators
 * 	[include]      "rules = default": the built-in file is included here
 * 	[rule NAME]    conditions, owner, leaf, known_by, reason
 *
 * The first rule whose conditions all hold decides; of several [loss], [product], [token_model]
 * and [plumbing] sections the last one counts.
 *
 * The value of a condition is a list of patterns, one of which must match; "not_KEY" negates it.
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

#define VT_OWNER_WEIGHTS "weights"

/* What of a rule's owner differs from one of its allocations to the next. */
enum vt_owner_form {
	VT_OWNER_FORM_TEXT, /* nothing */
	VT_OWNER_FORM_KIND, /* the kind at its end */
	VT_OWNER_FORM_NAMED,
};

struct vt_rule {
	char *name;
	char *owner; /* path; "{kind}" is the activation kind, "{variable}" the variable that holds
			the block, "{place}" the function in programs without PyTorch, "{holder}"
			the owner that a snapshot states */
	char *leaf;  /* follows the owner of single blocks: "{name}", or "{parameter}" for a
			gradient; or NULL */
	char *reason;
	uint8_t provenance; /* enum vt_provenance */
	uint8_t owner_form; /* enum vt_owner_form */
	uint8_t is_of_weights; /* the owner is VT_OWNER_WEIGHTS */
	struct vt_condition *conditions;
	unsigned nr_conditions;
};

struct vt_kind_rule {
	char *name;
	struct vt_globs module;
	struct vt_globs op;
	struct vt_globs node;
	struct vt_globs weak_module; /* decides if nothing else does */
	struct vt_globs beside; /* modules and operators that belong to a neighbour of this kind */
};

struct vt_stage_rule {
	uint8_t stage; /* enum vt_stage */
	struct vt_globs scope;
	struct vt_globs frame;
	struct vt_globs method;
	struct vt_globs op; /* operators, in programs without modules that train nothing */
};

/* Autograd nodes and operators with the same meaning. */
struct vt_operation_set {
	struct vt_globs node;
	struct vt_globs op;
	struct vt_globs module; /* module classes that do only this */
};

struct vt_rules {
	struct vt_rule *rules;
	unsigned nr_rules;
	struct vt_kind_rule *kinds;
	unsigned nr_kinds;
	struct vt_stage_rule *stages;
	unsigned nr_stages;
	struct vt_operation_set loss;
	struct vt_operation_set normaliser; /* losses in a program's own code */
	struct vt_operation_set product;
	struct vt_globs token_model; /* module classes that show that a model reads tokens */
	struct vt_globs choice;      /* operators that choose among scores */
	struct vt_operation_set passing; /* output is the input, slightly changed */
	struct vt_globs copy;        /* operators that copy, once or several times */
	struct vt_globs join;        /* operators that join tensors */
	struct vt_globs data;        /* operators that bring or create data */
	struct vt_globs plumbing;    /* operators that allocate for another operator */
	uint32_t nr_conditions;
};


/*
 * Reads the text of a rule file; `name` is for messages.  Returns 0, or -1 with file, line and
 * error in `diag` (exit code 3).  Call vt_rules_release in both cases.
 */
int vt_rules_parse(struct vt_rules *rules, const char *name, const char *text, size_t len,
		   struct vt_diag *diag);
/* The built-in rules, or those of the file at `path` if it is not NULL. */
int vt_rules_load(struct vt_rules *rules, const char *path, struct vt_diag *diag);
void vt_rules_release(struct vt_rules *rules);

#endif
