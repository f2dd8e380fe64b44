/* SPDX-License-Identifier: MIT */
#include "analyzer/model/generated_calls.h"

#include <stdlib.h>

#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/model/generated_code.h"
#include "analyzer/model/python_sources.h"

/* A generated file. */
struct file {
	struct vt_generated_code code;
	uint32_t *names; /* by kernel: string ids */
};

/* One run of it: every line of it once. */
struct run {
	uint32_t file;
	uint32_t thread;
	uint32_t first_memory; /* in `memories`: an allocation or VT_NO_INDEX for each */
	int64_t first_event;
	int64_t last_event;
	const struct vt_allocation *first;
	uint8_t is_observed;
};

/* A kernel in a run, on its way to become a call. */
struct launch {
	int64_t event;
	uint32_t run;
	uint32_t kernel;
};

/* Where a stack is. */
struct place {
	uint32_t file; /* index + 1 */
	uint32_t line;
	uint8_t is_known;
};

struct adding {
	struct vt_operator_calls *calls;
	const struct vt_frames *frames;
	struct vt_string_table *strings;
	const struct vt_allocation *allocations;
	uint32_t nr_allocations;
	uint32_t *file_of; /* by code: index + 1 */
	struct place *places; /* by Python stack */
	VT_VECTOR(struct file) files;
	struct vt_map memory_at; /* file and line, result + 1 or 0 -> memory */
	VT_VECTOR(struct run) runs;
	VT_VECTOR(uint32_t) memories;
	struct vt_map current; /* file, thread -> run */
	uint32_t *by_file;     /* runs, by file, thread and first event */
	VT_VECTOR(struct launch) launches;
	VT_VECTOR(struct vt_operator_call) merged;
	VT_VECTOR(struct vt_call_tensor) tensors;
};

/*
 * Where a stack is in a generated file, below what PyTorch may run between: modes that see every
 * operator.  The index of the file, VT_NO_INDEX: it is in none.
 */
static uint32_t find_place(struct adding *a, uint32_t stack, uint32_t *line)
{
	uint32_t ids[VT_FRAMES_MAX];
	struct place *place;
	unsigned nr;

	if (stack >= a->frames->python_tree.nr_stacks)
		return VT_NO_INDEX;
	place = &a->places[stack];
	if (!place->is_known) {
		place->is_known = 1;
		nr = vt_frames_python(a->frames, stack, ids);
		for (unsigned i = 0; i < nr && !place->file; i++) {
			const struct vt_frame_python *frame = &a->frames->python[ids[i]];

			place->line = frame->line;
			place->file = frame->code < a->frames->nr_codes ?
					      a->file_of[frame->code] :
					      0;
		}
	}
	*line = place->line;
	return place->file ? place->file - 1 : VT_NO_INDEX;
}

static struct vt_key memory_key(uint32_t file, uint32_t line, int is_result, uint32_t result)
{
	return (struct vt_key){ file, line, is_result ? (uint64_t)result + 1 : 0 };
}

static void add_file(void *context, const char *name, const char *text)
{
	struct adding *a = context;
	struct file file = { 0 };
	uint32_t index = (uint32_t)a->files.len;

	vt_generated_code_read(&file.code, text);
	for (size_t i = 0; i < file.code.memories.len; i++) {
		const struct vt_generated_memory *m = &file.code.memories.items[i];

		vt_map_put(&a->memory_at, memory_key(index, m->line, m->is_result, m->result), i);
	}
	file.names = vt_xcalloc(file.code.kernels.len + 1, sizeof(*file.names));
	for (size_t i = 0; i < file.code.kernels.len; i++) {
		char *full = vt_xasprintf(VT_GENERATED_PREFIX "%s",
					  file.code.kernels.items[i].operators);

		file.names[i] = vt_string_table_add(a->strings, full);
		free(full);
	}
	vt_python_sources_mark(a->frames, a->frames->nr_codes, name, a->file_of, index + 1);
	vt_vector_push(&a->files, file);
}

static struct run *begin_run(struct adding *a, uint32_t file, const struct vt_allocation *first)
{
	struct run run = { .file = file,
			   .thread = first->common->made->thread,
			   .first_memory = (uint32_t)a->memories.len,
			   .first_event = first->event,
			   .last_event = first->event,
			   .first = first };
	size_t nr = a->files.items[file].code.memories.len;

	vt_map_put(&a->current, (struct vt_key){ file, run.thread, 0 }, a->runs.len);
	vt_vector_push(&a->runs, run);
	vt_vector_reserve(&a->memories, a->memories.len + nr);
	for (size_t i = 0; i < nr; i++)
		a->memories.items[a->memories.len++] = VT_NO_INDEX;
	return &a->runs.items[a->runs.len - 1];
}

/* Whether a line has made its buffer; what the driver gave for it came before that. */
static int is_taken(const struct adding *a, uint32_t index, const struct vt_allocation *made)
{
	return index != VT_NO_INDEX && (a->allocations[index].common->kind == VT_KIND_BLOCK ||
					made->common->kind != VT_KIND_BLOCK);
}

/* A line that makes memory for the second time begins a run. */
static void take_allocation(struct adding *a, uint32_t index)
{
	const struct vt_allocation *made = &a->allocations[index];
	const uint64_t *current, *memory;
	uint32_t line, file = find_place(a, made->common->made->python_stack, &line);
	struct run *run;

	if (file == VT_NO_INDEX)
		return;
	memory = vt_map_find(&a->memory_at, memory_key(file, line, 0, 0));
	if (!memory)
		return;
	current = vt_map_find(&a->current, (struct vt_key){ file, made->common->made->thread, 0 });
	run = current ? &a->runs.items[*current] : NULL;
	if (!run || is_taken(a, a->memories.items[run->first_memory + *memory], made))
		run = begin_run(a, file, made);
	a->memories.items[run->first_memory + *memory] = index;
	run->last_event = made->event;
}

static int compare_runs(const void *a, const void *b, void *of)
{
	const struct run *runs = of, *x = &runs[*(const uint32_t *)a];
	const struct run *y = &runs[*(const uint32_t *)b];

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->first_event < y->first_event ? -1 : x->first_event > y->first_event;
}

static void sort_runs(struct adding *a)
{
	a->by_file = vt_xcalloc(a->runs.len + 1, sizeof(*a->by_file));
	for (uint32_t i = 0; i < a->runs.len; i++)
		a->by_file[i] = i;
	if (a->runs.len)
		qsort_r(a->by_file, a->runs.len, sizeof(*a->by_file), compare_runs, a->runs.items);
}

static int is_behind(const struct run *run, uint32_t file, const struct vt_operator_call *call)
{
	if (run->file != file)
		return run->file > file;
	if (run->thread != call->thread)
		return run->thread > call->thread;
	return run->first_event > call->event;
}

/* The run that an operator was called from: the last of its file and thread; VT_NO_INDEX: none. */
static uint32_t find_run(const struct adding *a, uint32_t file, const struct vt_operator_call *call)
{
	const struct run *runs = a->runs.items;
	size_t i = vt_search_first(k, a->runs.len, !is_behind(&runs[a->by_file[k]], file, call));
	uint32_t run = i ? a->by_file[i - 1] : VT_NO_INDEX;

	return i && runs[run].file == file && runs[run].thread == call->thread ? run : VT_NO_INDEX;
}

/* What an operator returned to a line has no allocation that the line itself made. */
static void take_results(struct adding *a, const struct run *run, uint32_t line,
			 const struct vt_operator_call *call)
{
	for (uint32_t i = 0; i < call->nr_tensors; i++) {
		const struct vt_call_tensor *t = &a->calls->tensors[call->first_tensor + i];
		const uint64_t *memory;
		uint32_t *allocation;

		if (!t->is_output)
			continue;
		memory = vt_map_find(&a->memory_at, memory_key(run->file, line, 1, t->position));
		if (!memory)
			continue;
		allocation = &a->memories.items[run->first_memory + *memory];
		if (*allocation == VT_NO_INDEX)
			*allocation = t->allocation;
	}
}

static void find_observed(struct adding *a)
{
	sort_runs(a);
	for (uint32_t i = 0; i < a->calls->nr; i++) {
		const struct vt_operator_call *call = &a->calls->items[i];
		uint32_t line, file = find_place(a, call->python_stack, &line), run;

		if (file == VT_NO_INDEX)
			continue;
		run = find_run(a, file, call);
		if (run == VT_NO_INDEX)
			continue;
		a->runs.items[run].is_observed = 1;
		take_results(a, &a->runs.items[run], line, call);
	}
}

/* A kernel runs after the buffers that were made above it. */
static void add_launches(struct adding *a, uint32_t index)
{
	const struct run *run = &a->runs.items[index];
	const struct vt_generated_code *code = &a->files.items[run->file].code;
	int64_t event = run->first_event;
	size_t m = 0;

	for (uint32_t k = 0; k < code->kernels.len; k++) {
		struct launch launch = { 0, index, k };

		for (; m < code->memories.len &&
		       code->memories.items[m].line < code->kernels.items[k].line;
		     m++) {
			uint32_t allocation = a->memories.items[run->first_memory + m];

			if (allocation != VT_NO_INDEX && a->allocations[allocation].event > event)
				event = a->allocations[allocation].event;
		}
		launch.event = event;
		vt_vector_push(&a->launches, launch);
	}
}

static uint32_t line_of(const struct adding *a, const struct launch *l)
{
	uint32_t file = a->runs.items[l->run].file;

	return a->files.items[file].code.kernels.items[l->kernel].line;
}

static int compare_launches(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

/* Whether an operator ran before a kernel; within one event the lines decide. */
static int is_before(struct adding *a, const struct vt_operator_call *call,
		     const struct launch *l)
{
	uint32_t line;

	if (call->event != l->event)
		return call->event < l->event;
	return find_place(a, call->python_stack, &line) == a->runs.items[l->run].file &&
	       line < line_of(a, l);
}

static void push_tensor(struct adding *a, uint32_t allocation, uint16_t position, int is_output)
{
	struct vt_call_tensor tensor = { allocation, position, 0, (uint8_t)is_output };

	vt_vector_push(&a->tensors, tensor);
}

/* Inputs before results; what is read and written is an input of which a new version is made. */
static void push_launch(struct adding *a, const struct launch *l)
{
	const struct run *run = &a->runs.items[l->run];
	const struct file *file = &a->files.items[run->file];
	const struct vt_generated_kernel *kernel = &file->code.kernels.items[l->kernel];
	const struct vt_allocation *first = run->first;
	struct vt_operator_call call = {
		.event = l->event,
		.end_event = l->event,
		.sequence = VT_NO_SEQUENCE,
		.node_sequence = first->node_sequence,
		.thread = run->thread,
		.parent = VT_NO_INDEX,
		.name = file->names[l->kernel],
		.node_class = first->common->made->node_class,
		.forward_python_stack = first->common->made->forward_python_stack,
		.first_tensor = (uint32_t)a->tensors.len,
	};

	for (int is_output = 0; is_output < 2; is_output++) {
		for (uint32_t i = 0; i < kernel->nr_tensors; i++) {
			const struct vt_generated_tensor *t =
				&file->code.tensors.items[kernel->first_tensor + i];
			uint32_t allocation = a->memories.items[run->first_memory + t->memory];

			if (allocation != VT_NO_INDEX &&
			    (is_output ? t->is_written : t->is_read))
				push_tensor(a, allocation, (uint16_t)i, is_output);
		}
	}
	call.nr_tensors = (uint32_t)a->tensors.len - call.first_tensor;
	vt_vector_push(&a->merged, call);
}

static void merge(struct adding *a)
{
	struct vt_operator_calls *calls = a->calls;
	uint32_t *now_at = vt_xcalloc((size_t)calls->nr + 1, sizeof(*now_at));
	size_t next = 0;

	vt_vector_sort(&a->launches, compare_launches);
	for (uint32_t i = 0; i < calls->nr_tensors; i++)
		vt_vector_push(&a->tensors, calls->tensors[i]);
	for (uint32_t i = 0; i <= calls->nr; i++) {
		while (next < a->launches.len &&
		       (i == calls->nr ||
			!is_before(a, &calls->items[i], &a->launches.items[next])))
			push_launch(a, &a->launches.items[next++]);
		if (i == calls->nr)
			break;
		now_at[i] = (uint32_t)a->merged.len;
		vt_vector_push(&a->merged, calls->items[i]);
		if (calls->items[i].parent < i)
			a->merged.items[now_at[i]].parent = now_at[calls->items[i].parent];
	}
	free(now_at);
	vt_operator_calls_release(calls);
	*calls = (struct vt_operator_calls){ a->merged.items, a->tensors.items,
					     (uint32_t)a->merged.len, (uint32_t)a->tensors.len };
}

static void release(struct adding *a)
{
	for (size_t i = 0; i < a->files.len; i++) {
		vt_generated_code_release(&a->files.items[i].code);
		free(a->files.items[i].names);
	}
	vt_vector_release(&a->files);
	vt_vector_release(&a->runs);
	free(a->by_file);
	vt_vector_release(&a->memories);
	vt_vector_release(&a->launches);
	vt_map_release(&a->memory_at);
	vt_map_release(&a->current);
	free(a->file_of);
	free(a->places);
}

int vt_generated_calls_add(struct vt_operator_calls *calls, struct vt_db *db,
			   const struct vt_frames *frames, struct vt_string_table *strings,
			   const struct vt_allocation *allocations, uint32_t nr_allocations,
			   struct vt_diag *diag)
{
	struct adding a = { .calls = calls,
			    .frames = frames,
			    .strings = strings,
			    .allocations = allocations,
			    .nr_allocations = nr_allocations };
	int rc;

	if (!calls->nr)
		return 0;
	a.file_of = vt_xcalloc((size_t)frames->nr_codes + 1, sizeof(*a.file_of));
	rc = vt_python_sources_each(db, VT_SOURCE_TEXT_GENERATED, add_file, &a, diag);
	if (!rc && a.files.len) {
		a.places = vt_xcalloc((size_t)frames->python_tree.nr_stacks + 1,
				      sizeof(*a.places));
		for (uint32_t i = 0; i < nr_allocations; i++)
			take_allocation(&a, i);
		find_observed(&a);
		for (uint32_t i = 0; i < a.runs.len; i++)
			if (a.runs.items[i].is_observed)
				add_launches(&a, i);
		merge(&a);
	}
	release(&a);
	return rc;
}
