/* SPDX-License-Identifier: MIT */
#include "analyzer/report/peak_context.h"

#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/model/describe.h"

static void find_pass(struct vt_peak_context *place, const struct vt_passes *passes)
{
	for (uint32_t i = 0; i < passes->nr; i++) {
		const struct vt_pass *pass = &passes->passes[i];

		if (pass->first_event > place->event)
			break;
		if (pass->kind == VT_PASS_CALL || pass->end_event <= place->event)
			continue;
		place->generation = pass->generation;
		place->pass = pass->kind == VT_PASS_PREFILL ? "prefill" : "decode step";
	}
}

/*
 * The function that the program was in; NULL: not known.  Where the simulator stands behind an
 * operator, PyTorch's frames that call it are there for it alone.
 */
static const char *innermost_function(const struct vt_frames *frames, uint32_t python_stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, python_stack, ids);
	int is_simulated = 0;

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_code *code = vt_frames_code(frames, ids[i]);

		is_simulated |= vt_describe_is_simulator(code->file);
		if (!is_simulated || !vt_describe_is_framework(code->file))
			return code->short_name;
	}
	return NULL;
}

/* What the events at one event number tell about the place: stacks and node of the last of them. */
void vt_peak_context_find(struct vt_peak_context *place, struct vt_analysis *analysis,
			  int64_t event)
{
	const struct vt_timeline *timeline = &analysis->timeline;
	uint32_t after = vt_timeline_after(timeline, event);
	uint32_t span = vt_stages_span_at(&analysis->stages, event);
	uint32_t python = 0, node = 0, nr = 0;
	const struct vt_module_link *links;
	const char *name = NULL;

	memset(place, 0, sizeof(*place));
	place->event = event;
	place->time_ns = vt_timeline_time(timeline, event);
	if (span != VT_NO_INDEX) {
		place->stage = vt_evidence_stages[analysis->stages.spans[span].stage];
		place->step = analysis->stages.spans[span].step;
		place->micro_batch = vt_stages_micro_batch(&analysis->stages, span);
	}
	find_pass(place, &analysis->stages.passes);
	if (after && timeline->moments[after - 1].what == VT_MOMENT_ALLOC) {
		const struct vt_allocation *a =
			&analysis->model.allocations[timeline->moments[after - 1].index];

		python = a->common->made->python_stack;
		node = a->common->made->node_class;
	} else if (after && timeline->moments[after - 1].what == VT_MOMENT_OUT_OF_MEMORY) {
		const struct vt_out_of_memory *oom =
			&analysis->model.ooms[timeline->moments[after - 1].index];

		python = oom->python_stack;
		node = oom->node_class;
	}
	links = vt_module_stacks_get(&analysis->stages.module_stacks, python, &nr);
	if (nr)
		name = vt_model_text(&analysis->model, links[0].type);
	else if (node)
		name = vt_operators_class(&analysis->facts.operators, node);
	else
		name = innermost_function(&analysis->model.frames, python);
	place->doing = name ? vt_xstrdup(name) : NULL;
}

void vt_peak_context_release(struct vt_peak_context *place)
{
	free(place->doing);
	place->doing = NULL;
}

static void add(struct vt_buffer *buffer, const char *word, uint32_t number)
{
	if (buffer->len)
		vt_buffer_puts(buffer, ", ");
	vt_buffer_puts(buffer, word);
	if (number)
		vt_buffer_printf(buffer, " %u", number);
}

char *vt_peak_context_stage(const struct vt_peak_context *place)
{
	struct vt_buffer buffer;

	vt_buffer_init(&buffer);
	if (place->step)
		add(&buffer, "step", place->step);
	if (place->micro_batch)
		add(&buffer, "micro-batch", place->micro_batch);
	if (place->stage && (!place->generation || strcmp(place->stage, "generation") != 0))
		add(&buffer, place->stage, 0);
	if (place->generation)
		add(&buffer, "generation", place->generation);
	if (place->pass)
		add(&buffer, place->pass, 0);
	return vt_buffer_detach(&buffer);
}

void vt_peak_context_print(const struct vt_peak_context *place, FILE *out)
{
	char *stage = vt_peak_context_stage(place), text[VT_UNITS_MAX];

	fprintf(out, "   t=%s%s%s",
		vt_units_duration(text, sizeof(text), (uint64_t)place->time_ns),
		*stage ? ", " : "", stage);
	if (place->doing)
		fprintf(out, ", %s", place->doing);
	fputc('\n', out);
	free(stage);
}

void vt_peak_context_json(const struct vt_peak_context *place, json_t *object)
{
	vt_json_set(object, "event", place->event);
	vt_json_set(object, "time_ns", place->time_ns);
	vt_json_set(object, "stage", place->stage);
	vt_json_set_if(object, "step", place->step, place->step);
	vt_json_set_if(object, "micro_batch", place->micro_batch, place->micro_batch);
	vt_json_set_if(object, "generation", place->generation, place->generation);
	vt_json_set(object, "pass", place->pass);
	vt_json_set(object, "doing", place->doing);
}
