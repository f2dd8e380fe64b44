/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/scene.h"

#include <string.h>

#include "analyzer/base/owner_path.h"

/* A hundredth of the highest use is worth a line, less is not. */
#define LEAST_SHARE 0.01

int vt_scene_is_owner(const struct vt_scene *scene, uint32_t allocation, const char *owner)
{
	struct vt_verdict verdict = vt_attribution_judge(scene->attribution, allocation);
	const char *is = vt_attribution_owner(scene->attribution, verdict.owner);

	return vt_owner_path_is_below(is, owner, strlen(owner));
}

static void push(struct vt_scene *scene, struct vt_finding finding)
{
	finding.device = scene->device;
	if ((double)finding.saves_bytes < LEAST_SHARE * (double)scene->peak_bytes) {
		free(finding.text);
		free(finding.where);
		return;
	}
	vt_vector_push(scene->findings, finding);
}

static char *where(const struct vt_scene *scene, uint32_t allocation)
{
	const struct vt_caller *made = scene->model->allocations[allocation].made;
	uint32_t stack = made->forward_python_stack ? made->forward_python_stack :
						      made->python_stack;
	struct vt_lines lines = vt_describe_python(scene->describe, stack);
	char *text = lines.nr ? vt_xstrdup(lines.text[0]) : NULL;

	vt_describe_free(&lines);
	return text;
}

void vt_scene_add(struct vt_scene *scene, enum vt_finding_id id, struct vt_reliefs *reliefs,
		     uint32_t allocation, char *text)
{
	struct vt_finding finding = { .id = id, .text = text };
	struct vt_verdict verdict;
	uint64_t peak;

	/* Only of a file whose figures contradict each other. */
	if (allocation == VT_NO_INDEX) {
		vt_vector_release(reliefs);
		free(text);
		return;
	}
	verdict = vt_attribution_judge(scene->attribution, allocation);
	peak = vt_reliefs_peak(reliefs, scene->timeline, scene->device);
	finding.saves_bytes = scene->peak_bytes > peak ? scene->peak_bytes - peak : 0;
	finding.owner = vt_attribution_owner(scene->attribution, verdict.owner);
	finding.where = where(scene, allocation);
	vt_vector_release(reliefs);
	push(scene, finding);
}

void vt_scene_add_replayed(struct vt_scene *scene, enum vt_finding_id id, uint64_t saves_bytes,
			      char *text)
{
	push(scene, (struct vt_finding){
			    .id = id, .saves_bytes = saves_bytes, .text = text, .is_replayed = 1 });
}

void vt_scene_init(struct vt_scene *scene, int64_t event)
{
	const struct vt_stages *stages = scene->attribution->facts->stages;
	uint32_t span = vt_stages_span_at(stages, event);

	scene->facts = scene->attribution->facts;
	scene->model = scene->facts->model;
	scene->timeline = stages->timeline;
	scene->event = event;
	scene->live = vt_xcalloc((size_t)scene->model->nr_allocations + 1, sizeof(*scene->live));
	for (uint32_t i = 0; i < scene->model->nr_allocations; i++) {
		const struct vt_allocation *a = &scene->model->allocations[i];

		if (a->device == scene->device && vt_allocation_is_live(a, scene->event) &&
		    vt_allocation_is_owned(a))
			scene->live[scene->nr_live++] = i;
	}
	if (span != VT_NO_INDEX) {
		scene->stage = stages->spans[span].stage;
		scene->step = stages->spans[span].step;
	}
	for (uint32_t i = 0; i < stages->nr_spans; i++)
		scene->is_training |= stages->spans[i].stage == VT_STAGE_BACKWARD;
	/* A loss, and no memory for its backward pass. */
	scene->is_training |= scene->model->nr_ooms && scene->facts->heads.nr;
	scene->peak_bytes = vt_reliefs_peak(NULL, scene->timeline, scene->device);
}

void vt_scene_release(struct vt_scene *scene)
{
	free(scene->live);
}
