/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/passes.h"

#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/util.h"

#define NO_PASS UINT32_MAX

struct walk {
	const struct vt_model *model;
	const struct vt_stage_evidence *evidence;
	const struct vt_calls *calls;
	VT_VECTOR(struct vt_pass) found;
	uint32_t open;		 /* NO_PASS: none */
	uint32_t generation;	 /* last one that began */
	uint32_t generation_thread; /* of the one that goes on, 0: none does */
};

/* Where a moment happened; stack 0: unknown, or on behalf of the backward pass. */
struct where {
	uint32_t stack;
	uint32_t thread;
};

static struct where place_of(const struct vt_model *model, const struct vt_moment *moment)
{
	struct where where = { 0, 0 };

	if (moment->what == VT_MOMENT_ALLOC) {
		const struct vt_caller *made = model->allocations[moment->index].common->made;

		where = (struct where){ made->node_class ? 0 : made->python_stack, made->thread };
	} else if (moment->what == VT_MOMENT_FREE) {
		const struct vt_caller *freed = model->allocations[moment->index].common->freed;

		where = (struct where){ freed->node_class ? 0 : freed->python_stack,
					freed->thread };
	} else if (moment->what == VT_MOMENT_MARK) {
		const struct vt_mark *mark = &model->marks[moment->index];

		where = (struct where){ mark->python_stack, mark->thread };
	} else if (moment->what == VT_MOMENT_OUT_OF_MEMORY) {
		const struct vt_out_of_memory *oom = &model->ooms[moment->index];

		where = (struct where){ oom->node_class ? 0 : oom->python_stack, oom->thread };
	}
	if (where.stack >= model->frames.python_tree.nr_stacks)
		where.stack = 0;
	return where;
}

static void follow_generation(struct walk *walk, const struct vt_stage_landmarks *here,
			      uint32_t thread)
{
	if (here->is_generating && walk->generation_thread != thread) {
		walk->generation_thread = thread;
		walk->generation++;
	} else if (!here->is_generating && walk->generation_thread == thread) {
		walk->generation_thread = 0;
	}
}

static void begin(struct walk *walk, const struct vt_stage_landmarks *here, uint32_t thread,
		  int64_t event)
{
	struct vt_pass fresh = { .module = here->module,
				 .first_event = event,
				 .end_event = VT_NEVER,
				 .type = here->type,
				 .thread = thread,
				 .generation = here->is_generating ? walk->generation : 0 };

	walk->open = (uint32_t)walk->found.len;
	vt_vector_push(&walk->found, fresh);
}

/*
 * One pass at a time: what other threads do while one is open is its own doing (replicas, workers),
 * unless they call the same module, which then answers the next request there.
 */
static void move_to(struct walk *walk, const struct where *where, int64_t event)
{
	const struct vt_stage_landmarks *here =
		vt_stage_evidence_landmarks(walk->evidence, where->stack);
	struct vt_pass *open = walk->open == NO_PASS ? NULL : &walk->found.items[walk->open];

	follow_generation(walk, here, where->thread);
	if (open && open->thread != where->thread && open->module != here->module)
		return;
	if (open && open->thread == where->thread && open->module == here->module)
		return;
	if (open)
		open->end_event = event;
	walk->open = NO_PASS;
	if (here->module)
		begin(walk, here, where->thread, event);
}

static void see_allocation(struct walk *walk, uint32_t index, uint32_t thread)
{
	struct vt_pass *open = walk->open == NO_PASS ? NULL : &walk->found.items[walk->open];

	if (!open || open->thread != thread)
		return;
	open->has_autograd |= vt_calls_is_numbered(walk->calls, index);
}

void vt_passes_init(struct vt_passes *passes, const struct vt_timeline *timeline,
		    const struct vt_stage_evidence *evidence, const struct vt_calls *calls)
{
	const struct vt_model *model = timeline->model;
	struct walk walk = {
		.model = model, .evidence = evidence, .calls = calls, .open = NO_PASS
	};

	memset(passes, 0, sizeof(*passes));
	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		struct where where = place_of(model, moment);

		if (!where.stack)
			continue;
		move_to(&walk, &where, vt_moment_event(model, moment));
		if (moment->what == VT_MOMENT_ALLOC)
			see_allocation(&walk, moment->index, where.thread);
	}
	passes->passes = walk.found.items;
	passes->nr = (uint32_t)walk.found.len;
	passes->nr_generations = walk.generation;
}

/* Other threads and autograd's nodes may allocate while it is open. */
int vt_pass_has(const struct vt_pass *pass, const struct vt_allocation *a)
{
	const struct vt_caller *made = a->common->made;

	return a->event >= pass->first_event && a->event < pass->end_event &&
	       made->thread == pass->thread && !made->node_class && made->python_stack;
}

/* One is open at a time. */
uint32_t vt_passes_find(const struct vt_passes *passes, const struct vt_allocation *a)
{
	size_t behind = vt_search_first(i, passes->nr, passes->passes[i].first_event <= a->event);

	return behind && vt_pass_has(&passes->passes[behind - 1], a) ? (uint32_t)(behind - 1)
								     : VT_NO_INDEX;
}

void vt_passes_release(struct vt_passes *passes)
{
	free(passes->passes);
	free(passes->is_carried);
	free(passes->loops);
	memset(passes, 0, sizeof(*passes));
}
