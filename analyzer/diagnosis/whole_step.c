/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/whole_step.h"

#include <ctype.h>
#include <string.h>

#include "analyzer/attribution/inference/module_path.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/base/util.h"
#include "common/journal_format.h"

/* Two equal modules may be two different things; three of a row are layers. */
#define LEAST_LAYERS 3
/* What a module's number may be; more are no layers. */
#define MAX_NUMBER 4096

/* As large for any batch.  All else is taken to follow it, which cannot make a bound false. */
static const char *const lasting[] = { "weights", "buffers", "optimizer" };
static const char *const kept[] = { "activations", "logits" };

/* Modules of one class with numbers behind one path. */
struct row {
	char *path; /* "model.layers." */
	uint32_t class_name;
	uint64_t *bytes; /* by number: live results of its forward */
	uint64_t *weights; /* by number: bytes of its parameters */
	uint8_t *has;    /* by number: there is such a module */
	uint8_t *has_run;
	uint32_t nr; /* numbers up to the highest */
};

VT_VECTOR_DECLARE(rows, struct row);

struct looking {
	struct vt_whole_step *whole;
	struct vt_attribution *attribution;
	const struct vt_facts *facts;
	const struct vt_model *model;
	const struct vt_out_of_memory *oom;
	uint32_t step; /* of the request */
	struct rows rows;
	uint64_t lasting_bytes, gradient_bytes, following_bytes; /* live at the request */
	uint64_t most_following_bytes; /* in an earlier step */
};

static const char *owner_of(struct looking *looking, uint32_t i)
{
	return vt_attribution_owner(looking->attribution,
				    vt_attribution_judge(looking->attribution, i).owner);
}

static int is_looked_at(const struct looking *looking, const struct vt_allocation *a)
{
	return a->common->device == looking->oom->device && vt_allocation_is_owned(a);
}

/* --- rows of layers --------------------------------------------------------------------------- */

/* The path's length before its last number, with the dot; -1: it does not end in one. */
static int split_number(const char *path, unsigned *number)
{
	const char *dot = strrchr(path, '.'), *last = dot ? dot + 1 : path;
	size_t nr = strspn(last, "0123456789");

	if (!nr || last[nr] || nr > 4)
		return -1;
	*number = (unsigned)atoi(last);
	return *number < MAX_NUMBER ? (int)(last - path) : -1;
}

static struct row *row_of(struct looking *looking, const char *path, size_t len,
			  uint32_t class_name)
{
	for (size_t i = 0; i < looking->rows.len; i++) {
		struct row *row = &looking->rows.items[i];

		if (row->class_name == class_name && strlen(row->path) == len &&
		    !strncmp(row->path, path, len))
			return row;
	}
	vt_vector_push(&looking->rows,
		       ((struct row){ .path = vt_xasprintf("%.*s", (int)len, path),
				      .class_name = class_name,
				      .bytes = vt_xcalloc(MAX_NUMBER, sizeof(uint64_t)),
				      .weights = vt_xcalloc(MAX_NUMBER, sizeof(uint64_t)),
				      .has = vt_xcalloc(MAX_NUMBER, 1),
				      .has_run = vt_xcalloc(MAX_NUMBER, 1) }));
	return &looking->rows.items[looking->rows.len - 1];
}

static void find_rows(struct looking *looking)
{
	for (uint32_t i = 0; i < looking->model->nr_modules; i++) {
		const struct vt_torch_module *module = &looking->model->modules[i];
		char *path = vt_names_module_path(&looking->facts->names, module);
		unsigned number;
		int len = split_number(path, &number);

		if (len >= 0) {
			struct row *row =
				row_of(looking, path, (size_t)len, module->class_name);

			row->has[number] = 1;
			if (number >= row->nr)
				row->nr = number + 1;
		}
		free(path);
	}
}

static uint32_t count(const struct row *row, const uint8_t *flags)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < row->nr; i++)
		nr += row->has[i] && flags[i];
	return nr;
}

/* The number of the layer of this row that a module path lies in; VT_NO_INDEX: in none. */
static uint32_t layer_of(const struct row *row, const char *path)
{
	size_t len = strlen(row->path);
	char *end;
	unsigned long number;

	if (strncmp(path, row->path, len) != 0 || !isdigit((unsigned char)path[len]))
		return VT_NO_INDEX;
	number = strtoul(path + len, &end, 10);
	return (!*end || *end == '.') && number < row->nr && row->has[number] ? (uint32_t)number :
										 VT_NO_INDEX;
}

/* Rows in layers of another row are part of these. */
static int is_inner(const struct looking *looking, const struct row *row)
{
	for (size_t i = 0; i < looking->rows.len; i++) {
		const struct row *outer = &looking->rows.items[i];

		if (outer != row && count(outer, outer->has) >= LEAST_LAYERS &&
		    layer_of(outer, row->path) != VT_NO_INDEX)
			return 1;
	}
	return 0;
}

static int is_parameter(const struct looking *looking, const struct vt_allocation *a)
{
	uint32_t i = (uint32_t)(a - looking->model->allocations);

	return vt_names_find(&looking->facts->names, i, 1u << VT_ROLE_PARAMETER) != NULL;
}

static void note_layer(struct looking *looking, const struct vt_allocation *a, uint64_t live_bytes)
{
	char *path = vt_module_path_module(looking->facts, a);
	int is_weight = is_parameter(looking, a);

	for (size_t i = 0; path && i < looking->rows.len; i++) {
		struct row *row = &looking->rows.items[i];
		uint32_t layer = layer_of(row, path);

		if (layer == VT_NO_INDEX)
			continue;
		if (is_weight) {
			row->weights[layer] += a->common->size_bytes;
			continue;
		}
		row->has_run[layer] = 1;
		row->bytes[layer] += live_bytes;
	}
	free(path);
}

/* The least that complete layers with as many weights kept: narrower or deeper ones keep less. */
static uint64_t least_kept(const struct row *row, uint32_t layer, uint32_t last)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < last; i++)
		if (row->has[i] && row->weights[i] == row->weights[layer] && row->bytes[i] < least)
			least = row->bytes[i];
	return least == UINT64_MAX ? 0 : least;
}

/* Where layers ran one after the other and some are left. */
static void add_row(struct looking *looking, const struct row *row)
{
	struct vt_whole_step *whole = looking->whole;
	uint32_t nr = count(row, row->has), nr_run = count(row, row->has_run), last = 0, seen = 0;

	if (nr < LEAST_LAYERS || nr_run < 2 || is_inner(looking, row))
		return;
	for (uint32_t i = 0; i < row->nr; i++)
		if (row->has[i] && row->has_run[i])
			last = i;
	for (uint32_t i = 0; i <= last; i++)
		seen += row->has[i];
	/* Not in their order: which of them are still to come is not known. */
	if (seen != nr_run)
		return;
	whole->nr_layers += nr;
	for (uint32_t i = last; i < row->nr; i++) {
		uint64_t least = row->has[i] ? least_kept(row, i, last) : 0;

		if (least <= row->bytes[i])
			continue;
		whole->nr_layers_left++;
		whole->layer_bytes += least - row->bytes[i];
	}
}

static void find_layers(struct looking *looking)
{
	const struct vt_stages *stages = looking->facts->stages;

	find_rows(looking);
	for (uint32_t i = 0; i < looking->model->nr_allocations; i++) {
		const struct vt_allocation *a = &looking->model->allocations[i];
		uint32_t span = vt_stages_span_at(stages, a->event);
		const char *owner;

		if (!is_looked_at(looking, a) || a->event > looking->oom->event)
			continue;
		if (is_parameter(looking, a))
			note_layer(looking, a, 0);
		if (span == VT_NO_INDEX || stages->spans[span].stage != VT_STAGE_FORWARD ||
		    stages->spans[span].step != looking->step)
			continue;
		owner = owner_of(looking, i);
		if (vt_owner_path_is_below_any(owner, kept, VT_ARRAY_SIZE(kept)))
			note_layer(looking, a,
				   vt_allocation_is_live(a, looking->oom->event)
					   ? a->common->size_bytes
					   : 0);
	}
	for (size_t i = 0; i < looking->rows.len; i++)
		add_row(looking, &looking->rows.items[i]);
	for (size_t i = 0; i < looking->rows.len; i++) {
		free(looking->rows.items[i].path);
		free(looking->rows.items[i].bytes);
		free(looking->rows.items[i].weights);
		free(looking->rows.items[i].has);
		free(looking->rows.items[i].has_run);
	}
	vt_vector_release(&looking->rows);
}

/* --- bytes ------------------------------------------------------------------------------------ */

static int is_trained(const struct looking *looking, uint32_t i)
{
	const struct vt_tensor *tensor =
		vt_names_find(&looking->facts->names, i, 1u << VT_ROLE_PARAMETER);

	return tensor && tensor->flags & VT_TENSOR_REQUIRES_GRAD;
}

static void find_live(struct looking *looking)
{
	struct vt_whole_step *whole = looking->whole;

	for (uint32_t i = 0; i < looking->model->nr_allocations; i++) {
		const struct vt_allocation *a = &looking->model->allocations[i];
		const char *owner;

		if (!is_looked_at(looking, a) || !vt_allocation_is_live(a, looking->oom->event))
			continue;
		owner = owner_of(looking, i);
		if (is_trained(looking, i))
			whole->parameter_bytes += a->common->size_bytes;
		if (vt_owner_path_is_below(owner, "optimizer", strlen("optimizer")))
			whole->state_bytes += a->common->size_bytes;
		if (vt_owner_path_is_below_any(owner, lasting, VT_ARRAY_SIZE(lasting)))
			looking->lasting_bytes += a->common->size_bytes;
		else if (vt_owner_path_is_below(owner, "gradients", strlen("gradients")))
			looking->gradient_bytes += a->common->size_bytes;
		else
			looking->following_bytes += a->common->size_bytes;
	}
	if (whole->parameter_bytes > looking->gradient_bytes)
		whole->gradient_bytes = whole->parameter_bytes - looking->gradient_bytes;
}

/* The most that followed the batch at one moment of an earlier step's forward and backward. */
static void find_earlier(struct looking *looking)
{
	const struct vt_stages *stages = looking->facts->stages;
	const struct vt_timeline *timeline = stages->timeline;
	uint64_t following = 0;

	for (uint32_t k = 0; k < timeline->nr; k++) {
		const struct vt_moment *moment = &timeline->moments[k];
		const struct vt_allocation *a;
		const char *owner;
		uint32_t span;

		if (vt_moment_event(timeline->model, moment) >= looking->oom->event)
			return;
		if (moment->what != VT_MOMENT_ALLOC && moment->what != VT_MOMENT_FREE)
			continue;
		a = &looking->model->allocations[moment->index];
		if (!is_looked_at(looking, a))
			continue;
		owner = owner_of(looking, moment->index);
		if (!vt_owner_path_is_below_any(owner, kept, VT_ARRAY_SIZE(kept)))
			continue;
		following += moment->what == VT_MOMENT_ALLOC ? a->common->size_bytes
							     : -a->common->size_bytes;
		span = vt_stages_span_at(stages, vt_moment_event(timeline->model, moment));
		if (span != VT_NO_INDEX && stages->spans[span].step &&
		    stages->spans[span].stage == VT_STAGE_FORWARD &&
		    following > looking->most_following_bytes)
			looking->most_following_bytes = following;
	}
}

/* --- the bound -------------------------------------------------------------------------------- */

/* Bytes that a step takes at least with that batch: at the request, before and after backward. */
static double needed(const struct looking *looking, double share)
{
	const struct vt_whole_step *whole = looking->whole;
	double lasting_bytes = (double)looking->lasting_bytes;
	double live = lasting_bytes + (double)looking->gradient_bytes;
	double at_request = live + share * (double)(looking->following_bytes +
						    looking->oom->requested_bytes);
	double at_backward =
		live + share * (double)(looking->following_bytes + whole->layer_bytes);
	double earlier = lasting_bytes + share * (double)looking->most_following_bytes;
	double after = live + (double)whole->gradient_bytes;
	double most = at_request > at_backward ? at_request : at_backward;

	most = earlier > most ? earlier : most;
	return after > most ? after : most;
}

static void find_most(struct looking *looking, const struct vt_trace *trace,
		      const struct vt_smaller *smaller, int is_exact)
{
	struct vt_whole_step *whole = looking->whole;
	uint64_t low = 0, high = smaller->batch;

	if (!smaller->batch || trace->capacity_bytes > UINT64_MAX / 2)
		return;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (needed(looking, (double)middle / (double)smaller->batch) <=
		    (double)trace->capacity_bytes)
			low = middle;
		else
			high = middle;
	}
	whole->has_most = 1;
	whole->most_batch = is_exact && smaller->fits_batch < low ? smaller->fits_batch : low;
}

/* A second step is the first to begin with the optimizer's states. */
static int has_whole_step(const struct vt_stages *stages, int64_t event)
{
	int64_t end = vt_stages_ended(stages, event);

	return end && vt_stages_ended(stages, end);
}

void vt_whole_step_find(struct vt_whole_step *whole, struct vt_attribution *attribution,
			const struct vt_trace *trace, uint32_t oom,
			const struct vt_smaller *smaller, int is_exact)
{
	const struct vt_stages *stages = attribution->facts->stages;
	struct looking looking = { .whole = whole,
				   .attribution = attribution,
				   .facts = attribution->facts,
				   .model = trace->model,
				   .oom = &trace->model->ooms[oom] };
	uint32_t span = vt_stages_span_at(stages, looking.oom->event);

	memset(whole, 0, sizeof(*whole));
	if (span == VT_NO_INDEX || has_whole_step(stages, looking.oom->event) ||
	    (stages->spans[span].stage != VT_STAGE_FORWARD &&
	     stages->spans[span].stage != VT_STAGE_BACKWARD &&
	     stages->spans[span].stage != VT_STAGE_OPTIMIZER))
		return;
	looking.step = stages->spans[span].step;
	find_live(&looking);
	whole->is_unseen = whole->parameter_bytes != 0;
	if (!whole->is_unseen)
		return;
	if (stages->spans[span].stage == VT_STAGE_FORWARD)
		find_layers(&looking);
	find_earlier(&looking);
	find_most(&looking, trace, smaller, is_exact);
}
