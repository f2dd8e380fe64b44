/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MODEL_RUN_H
#define VT_ANALYZER_MODEL_RUN_H

/*
 * The recorded run of a planned model (model_run.py) as a plan: its peak, owners and stages, the
 * cards that it fits, and beside each figure what the formulas say.
 */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/planner/card_fit.h"
#include "analyzer/planner/run_comparison.h"

struct vt_model_run {
	/* The caller's. */
	const char *model;	/* as the user named it */
	const char *recording;
	const json_t *result;	/* of model_run.py */
	int is_kept;		/* recorded by an earlier command */
	const struct vt_plan_settings *settings;
	struct vt_analysis *analysis;
	const struct vt_plan *plan;   /* by formulas; NULL: they do not know the model */
	const char *plan_error;	      /* why not; NULL with a plan */
	const struct vt_gpu *gpu;     /* NULL: all that are known */
	int is_out_of_memory; /* tried with the memory of `gpu`: -1: not tried */
	/* Found by vt_model_run_init. */
	struct vt_measured measured;
	struct vt_run_comparison comparison; /* if has_comparison */
	int has_comparison;
	unsigned peak;		      /* place in measured.stages */
	double allocated, used;	      /* bytes at most; `used` by the process without the context */
};

/* 0, or -1 with `diag` filled (exit code 3).  vt_model_run_release in both cases. */
int vt_model_run_init(struct vt_model_run *run, struct vt_diag *diag);
void vt_model_run_release(struct vt_model_run *run);

/* Bytes of the device with the context of that card. */
double vt_model_run_need(const struct vt_model_run *run, const struct vt_gpu *gpu);
/*
 * NO: tensors and context are more than the card has, or it was tried.  TIGHT: more than 90 % of
 * it, or cached segments have to go back.
 */
enum vt_card_fit vt_model_run_judge(const struct vt_model_run *run, const struct vt_gpu *gpu);

/* One owner of a stage; `planned` by formulas, -1 where there are none. */
struct vt_model_run_row {
	const char *owner;
	double bytes, planned;
};

VT_VECTOR_DECLARE(vt_model_run_rows, struct vt_model_run_row);

/* Largest first, in the words of the formulas; release with vt_vector_release. */
void vt_model_run_rows(const struct vt_model_run *run, unsigned stage,
		       struct vt_model_run_rows *rows);
/* All of a stage by formulas; -1 where they say nothing of it. */
double vt_model_run_planned(const struct vt_model_run *run, unsigned stage);

void vt_model_run_print_text(const struct vt_model_run *run, FILE *out);
void vt_model_run_print_json(const struct vt_model_run *run, FILE *out);

#endif
