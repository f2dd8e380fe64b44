/* SPDX-License-Identifier: MIT */
#include "analyzer/analysis/analysis.h"

#include <string.h>

#include "analyzer/model/captures.h"
#include "analyzer/model/idle_pools.h"
#include "analyzer/model/containers.h"
#include "analyzer/model/samples.h"
#include "analyzer/base/parallel.h"
#include "analyzer/input/input.h"

struct finding {
	struct vt_analysis *analysis;
	struct vt_diag *diag;
	int rc;
};

/* The order of events, and what the model says without it. */
static void find_in_model(void *context, size_t number)
{
	struct finding *finding = context;
	struct vt_model *model = &finding->analysis->model;

	if (!number) {
		vt_timeline_init(&finding->analysis->timeline, model);
		return;
	}
	vt_containers_find(model);
	vt_captures_find(model);
	finding->rc = vt_idle_pools_find(model, finding->diag);
	if (!finding->rc)
		vt_samples_find(model);
}

int vt_analysis_open_model(struct vt_analysis *analysis, const char *path, const char *rules_path,
			   struct vt_diag *diag)
{
	struct finding finding = { analysis, diag, 0 };

	memset(analysis, 0, sizeof(*analysis));
	if (vt_rules_load(&analysis->rules, rules_path, diag) ||
	    vt_input_open(path, &analysis->db, diag) ||
	    vt_model_load(&analysis->model, analysis->db, diag))
		return -1;
	vt_parallel_run(2, find_in_model, &finding);
	if (finding.rc)
		return -1;
	vt_traces_init(&analysis->traces, analysis->db, &analysis->timeline);
	return 0;
}

struct judging {
	struct vt_analysis *analysis;
	vt_analysis_beside_fn beside;
	void *context;
	int is_all;
};

static void judge_or_beside(void *context, size_t number)
{
	const struct judging *judging = context;
	struct vt_analysis *analysis = judging->analysis;

	if (number) {
		judging->beside(analysis, judging->context);
		return;
	}
	vt_stages_init(&analysis->stages, &analysis->timeline, &analysis->rules);
	vt_facts_init(&analysis->facts, &analysis->stages, &analysis->rules);
	vt_attribution_init(&analysis->attribution, &analysis->facts);
	if (judging->is_all)
		vt_attribution_judge_all(&analysis->attribution);
}

static void judge(struct judging judging)
{
	vt_parallel_run(judging.beside ? 2 : 1, judge_or_beside, &judging);
}

void vt_analysis_judge(struct vt_analysis *analysis, vt_analysis_beside_fn beside, void *context)
{
	judge((struct judging){ analysis, beside, context, .is_all = 0 });
}

void vt_analysis_judge_all(struct vt_analysis *analysis, vt_analysis_beside_fn beside,
			   void *context)
{
	judge((struct judging){ analysis, beside, context, .is_all = 1 });
}

int vt_analysis_open(struct vt_analysis *analysis, const char *path, const char *rules_path,
		     struct vt_diag *diag)
{
	if (vt_analysis_open_model(analysis, path, rules_path, diag))
		return -1;
	vt_analysis_judge(analysis, NULL, NULL);
	return 0;
}

void vt_analysis_shed(struct vt_analysis *analysis)
{
	vt_traces_release(&analysis->traces);
	vt_narrow_release(&analysis->attribution.verdicts.of);
	vt_facts_release(&analysis->facts);
	vt_stages_release(&analysis->stages);
	vt_timeline_release(&analysis->timeline);
}

void vt_analysis_close(struct vt_analysis *analysis)
{
	vt_traces_release(&analysis->traces);
	vt_attribution_release(&analysis->attribution);
	vt_facts_release(&analysis->facts);
	vt_stages_release(&analysis->stages);
	vt_timeline_release(&analysis->timeline);
	vt_model_release(&analysis->model);
	vt_rules_release(&analysis->rules);
	vt_db_close(analysis->db);
	memset(analysis, 0, sizeof(*analysis));
}
