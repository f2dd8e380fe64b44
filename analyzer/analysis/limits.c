/* SPDX-License-Identifier: MIT */
#include "analyzer/analysis/limits.h"
#include "analyzer/analysis/ended.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/model/losses.h"
#include "analyzer/output/json.h"

VT_VECTOR_DECLARE(limits, char *);

static int has_blocks(const struct vt_model *model)
{
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (model->allocations[i].common->kind == VT_KIND_BLOCK)
			return 1;
	return 0;
}

static void add_kinds(struct limits *limits, const struct vt_model *model)
{
	if (!has_blocks(model))
		vt_vector_push(limits,
			       vt_xstrdup("no blocks of a framework: only driver allocations"));
	if (model->frames.python_tree.nr_stacks <= 1)
		vt_vector_push(limits, vt_xstrdup("no Python interpreter: call sites are native "
						  "stacks; holders are unknown"));
}

/* What no snapshot has, and what this one lacks. */
static void add_snapshot(struct limits *limits, const struct vt_analysis *analysis)
{
	struct vt_db *db = analysis->db;
	int64_t nr_earlier = vt_db_run_get_int(db, "snapshot_earlier_blocks", 0);
	char count[VT_UNITS_MAX];

	vt_vector_push(limits,
		       vt_xstrdup("a PyTorch snapshot: memory outside PyTorch's allocator, the CUDA"
				  " context, the device, names of tensors, operators and threads"
				  " are missing"));
	if (analysis->model.frames.native_tree.nr_stacks <= 1)
		vt_vector_push(limits, vt_xstrdup("its stacks have no C++ frames (stacks=\"all\"):"
						  " operators, the backward pass and libraries are"
						  " unknown"));
	if (analysis->model.nr_ooms)
		vt_vector_push(
			limits,
			vt_xstrdup("device sizes are estimates: what PyTorch's allocator had,"
				   " plus free memory, when a request failed"));
	if (!vt_db_run_get_int(db, "snapshot_entries", 0))
		vt_vector_push(limits, vt_xstrdup("without a trace: only what was alive when it was"
						  " taken"));
	else if (nr_earlier)
		vt_vector_push(limits, vt_xasprintf("its trace begins with %s block%s alive: what "
						    "happened before is unknown",
						    vt_units_count(count, sizeof(count),
								   (uint64_t)nr_earlier),
						    nr_earlier == 1 ? "" : "s"));
}

static void add_ending(struct limits *limits, const struct vt_analysis *analysis)
{
	char *ended = vt_db_run_get(analysis->db, "ended");

	if (ended && !strcmp(ended, "snapshot"))
		add_snapshot(limits, analysis);
	else if (vt_ended_is_running(ended))
		vt_vector_push(limits,
			       vt_xstrdup("still running: figures cover the time up to now"));
	else if (strncmp(ended, "exit ", strlen("exit ")) != 0)
		vt_vector_push(limits, vt_xasprintf("%s: figures cover only the part that ran",
						    vt_ended_note(ended)));
	free(ended);
}

static int is_simulated(const struct vt_model *model)
{
	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (model->devices[i].is_simulated)
			return 1;
	return 0;
}

/* Whether a function or an operator of such a name was met. */
static int has_called(struct vt_db *db, const char *glob)
{
	char *sql = vt_xasprintf("SELECT EXISTS(SELECT 1 FROM native_frame WHERE symbol GLOB '%s')"
				 " OR EXISTS(SELECT 1 FROM operator WHERE name IN"
				 " (SELECT id FROM string WHERE text GLOB '%s'))",
				 glob, glob);
	int64_t has = vt_db_query_int(db, sql, 0);

	free(sql);
	return has != 0;
}

/* What the simulated card was given besides its name ("routing"); NULL: not that. */
static char *find_choice(struct vt_db *db, const char *option)
{
	char *card = vt_db_run_get(db, "env:VTRACE_SIM_PROFILE");
	char *key = vt_xasprintf(",%s=", option);
	const char *found = card ? strstr(card, key) : NULL;
	char *choice = NULL;

	if (found) {
		found += strlen(key);
		choice = vt_xasprintf("%.*s", (int)strcspn(found, ","), found);
	}
	free(key);
	free(card);
	return choice;
}

/* Where tokens went was chosen by who simulated, not by a model. */
static void add_routing(struct limits *limits, struct vt_db *db)
{
	char *chosen = find_choice(db, "routing");

	if (chosen)
		vt_vector_push(limits, vt_xasprintf("experts: tokens were routed by the option"
						    " routing=%s, not by the model",
						    chosen));
	free(chosen);
}

/* Known for one kind of card (common/card_profile.h). */
static void add_nccl(struct limits *limits, struct vt_db *db)
{
	char *chosen = find_choice(db, "nccl");

	if (chosen)
		vt_vector_push(limits,
			       vt_xasprintf("NCCL buffers: set by the option nccl=%s", chosen));
	else if (vt_db_query_int(db, "SELECT max(capability) FROM device", 0) == 90)
		vt_vector_push(limits,
			       vt_xstrdup("NCCL buffers: published measurements for H100 (nccl=)"));
	else
		vt_vector_push(
			limits,
			vt_xstrdup("NCCL buffers: unknown on this card, counted as 0 (nccl=)"));
	free(chosen);
}

/* What the simulator takes for 0 for want of a published figure. */
static void add_not_simulated(struct limits *limits, const struct vt_analysis *analysis)
{
	static const struct {
		const char *glob, *what;
	} users[] = {
		{ "*cudnn_convolution*", "convolutions" },
		{ "*scaled_dot_product_cudnn_attention*", "attention" },
		{ "*_cudnn_rnn*", "recurrent layers" },
	};
	struct vt_buffer met;

	if (!is_simulated(&analysis->model))
		return;
	vt_buffer_init(&met);
	for (size_t i = 0; i < VT_ARRAY_SIZE(users); i++)
		if (has_called(analysis->db, users[i].glob))
			vt_buffer_printf(&met, "%s%s", met.len ? ", " : "", users[i].what);
	if (met.len)
		vt_vector_push(limits,
			       vt_xasprintf("cuDNN workspaces (%s): not simulated; on a real card"
					    " they add an unknown amount to the peak",
					    met.data));
	vt_buffer_release(&met);
	if (has_called(analysis->db, "*ProcessGroupNCCL*"))
		add_nccl(limits, analysis->db);
	add_routing(limits, analysis->db);
	if (analysis->model.nr_captures)
		vt_vector_push(limits,
			       vt_xstrdup("executable CUDA graphs: a fixed size is assumed for each"
					  " kernel (graph_node=); the real size is unknown"));
}

static void add_notes(struct limits *limits, const struct vt_analysis *analysis)
{
	add_kinds(limits, &analysis->model);
	add_ending(limits, analysis);
	add_not_simulated(limits, analysis);
}

struct vt_lines vt_limits_of_kinds(const struct vt_analysis *analysis)
{
	struct limits limits = { 0 };

	add_kinds(&limits, &analysis->model);
	return (struct vt_lines){ limits.items, (unsigned)limits.len };
}

/* ... and that a recording is not whole, or its run did not end, or not by itself. */
static struct vt_lines find_all(const struct vt_analysis *analysis)
{
	struct limits limits = { 0 };
	struct vt_lines losses = vt_losses_find(analysis->db);

	for (unsigned i = 0; i < losses.nr; i++)
		vt_vector_push(&limits, losses.text[i]);
	free(losses.text);
	add_notes(&limits, analysis);
	return (struct vt_lines){ limits.items, (unsigned)limits.len };
}

const char *vt_limits_ending(const struct vt_analysis *analysis)
{
	char *ended = vt_db_run_get(analysis->db, "ended");
	const char *text = NULL;

	if (vt_ended_is_running(ended))
		text = "is still running";
	else if (strncmp(ended, "exit ", strlen("exit ")) != 0)
		text = vt_ended_early(ended);
	else if (strcmp(ended, "exit 0") != 0)
		text = analysis->model.nr_ooms ? "ended out of memory" : "ended with an error";
	free(ended);
	return text;
}

/* The first step makes the optimizer's states, so only the second one holds all from the start. */
static const char *what_is_missing(const struct vt_stages *stages)
{
	int64_t end = vt_stages_ended(stages, INT64_MAX);

	if (end)
		return vt_stages_ended(stages, end)
			       ? NULL
			       : "before the end of its second step, the first one that begins "
				 "with optimizer states";
	if (vt_stages_has(stages, VT_STAGE_BACKWARD))
		return "before the end of its first optimizer step; the rest of the step is "
		       "not recorded";
	return "before any backward pass; if the program trains, the rest of the step is not "
	       "recorded";
}

char *vt_limits_unfinished(const struct vt_analysis *analysis)
{
	const char *missing = what_is_missing(&analysis->stages);
	const char *ending = vt_limits_ending(analysis);

	return missing && ending ? vt_xasprintf("the program %s %s", ending, missing) : NULL;
}

char *vt_limits_rescued(uint32_t nr_rescued)
{
	return vt_xasprintf(
		"%u of the failed requests would succeed; what the program would do then is not "
		"recorded",
		nr_rescued);
}

static void print(struct vt_lines lines, const char *word, FILE *out)
{
	for (unsigned i = 0; i < lines.nr; i++)
		fprintf(out, "%s: %s\n", word, lines.text[i]);
	vt_lines_free(&lines);
}

void vt_limits_print_losses(const struct vt_analysis *analysis, FILE *out)
{
	print(vt_losses_find(analysis->db), "lost", out);
}

void vt_limits_print_notes(const struct vt_analysis *analysis, FILE *out)
{
	struct limits limits = { 0 };

	add_notes(&limits, analysis);
	print((struct vt_lines){ limits.items, (unsigned)limits.len }, "note", out);
}

void vt_limits_print(const struct vt_analysis *analysis, FILE *out)
{
	vt_limits_print_losses(analysis, out);
	vt_limits_print_notes(analysis, out);
}

json_t *vt_limits_json(const struct vt_analysis *analysis)
{
	return vt_json_lines(find_all(analysis));
}
