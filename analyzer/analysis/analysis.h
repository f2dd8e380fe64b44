/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ANALYSIS_H
#define VT_ANALYZER_ANALYSIS_H

/*
 * One recording, read and ready to be asked: database, model, stages, facts, owners.  Every command
 * that judges bytes starts here.
 */

#include "analyzer/attribution/attribution.h"
#include "analyzer/replay/traces.h"

struct vt_analysis {
	struct vt_db *db;
	struct vt_model model;
	struct vt_timeline timeline;
	struct vt_rules rules;
	struct vt_stages stages;
	struct vt_facts facts;
	struct vt_attribution attribution;
	struct vt_traces traces;
};

/*
 * What a command does beside finding stages, facts and owners: it may ask for the model, the
 * timeline and the traces, and for nothing else; not for the database.
 */
typedef void (*vt_analysis_beside_fn)(struct vt_analysis *analysis, void *context);

/*
 * Reads what `path` names (input.h), with the rules of a file or the built-in ones (NULL).  Returns
 * 0, or -1 with `diag` filled; vt_analysis_close is to be called in both cases.
 */
int vt_analysis_open(struct vt_analysis *analysis, const char *path, const char *rules_path,
		     struct vt_diag *diag);
/* The same without stages, facts and owners, which cost as much as the rest. */
int vt_analysis_open_model(struct vt_analysis *analysis, const char *path, const char *rules_path,
			   struct vt_diag *diag);
/* What is missing after vt_analysis_open_model; `beside` (or NULL) runs in another thread. */
void vt_analysis_judge(struct vt_analysis *analysis, vt_analysis_beside_fn beside, void *context);
/* ... and each block, beside it: for what will ask for the owners of all of them. */
void vt_analysis_judge_all(struct vt_analysis *analysis, vt_analysis_beside_fn beside,
			   void *context);
/*
 * Gives back what is large: timeline, stages, facts and who was judged.  Names of owners stay, and
 * the model with its database.  Nothing can be asked of owners, stages and moments afterwards.
 */
void vt_analysis_shed(struct vt_analysis *analysis);
void vt_analysis_close(struct vt_analysis *analysis);

#endif
