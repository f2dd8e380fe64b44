/* SPDX-License-Identifier: MIT */
#include "analyzer/report/explain.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyzer/attribution/inference/module_path.h"
#include "analyzer/base/util.h"
#include "analyzer/attribution/moments.h"
#include "common/journal_format.h"

/* The block, not the driver memory that it lies in, which may be as large. */
static int is_better(const struct vt_allocation *a, const struct vt_allocation *than)
{
	if (a->holds_blocks != than->holds_blocks)
		return !a->holds_blocks;
	return a->common->size_bytes < than->common->size_bytes;
}

static uint32_t find_address(const struct vt_model *model, uint64_t address, int device,
			     int64_t event)
{
	uint32_t found = VT_NO_INDEX;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (!vt_allocation_is_live(a, event) || a->common->kind == VT_KIND_ADDRESS ||
		    (device != VT_WHEN_ALL_DEVICES && a->common->device != device) ||
		    address < a->address || address - a->address >= a->common->size_bytes)
			continue;
		if (found == VT_NO_INDEX || is_better(a, &model->allocations[found]))
			found = i;
	}
	return found;
}

static uint32_t find_event(const struct vt_model *model, uint64_t event)
{
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if ((uint64_t)model->allocations[i].event == event)
			return i;
	return VT_NO_INDEX;
}

static int find_block(struct vt_explain *explain, const struct vt_explain_options *options,
		      struct vt_diag *diag)
{
	const struct vt_model *model = &explain->analysis->model;
	int is_hexadecimal = strncmp(options->what, "0x", 2) == 0;
	unsigned long long number;
	char *end;
	int64_t event;

	errno = 0;
	number = strtoull(options->what, &end, is_hexadecimal ? 16 : 10);
	if (errno || *end || end == options->what || strchr("+- ", *options->what)) {
		vt_diag_set(diag, VT_EXIT_USAGE, "\"%s\" is neither an ID nor an address",
			    options->what);
		return -1;
	}
	explain->allocation = is_hexadecimal ? VT_NO_INDEX : find_event(model, number);
	if (explain->allocation != VT_NO_INDEX)
		return 0;
	if (vt_moments_resolve(&explain->analysis->stages, options->when, options->device, &event,
			       diag))
		return -1;
	explain->allocation = find_address(model, number, options->device, event);
	if (explain->allocation != VT_NO_INDEX)
		return 0;
	if (!is_hexadecimal && !vt_folded_is_known(&model->folded, (int64_t)number))
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: block %s was discarded (--keep), or never existed: details "
			    "begin at event %lld",
			    vt_db_path(model->db), options->what,
			    (long long)model->folded.event + 1);
	else
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: no block %s, and nothing at that address (%s)",
			    vt_db_path(model->db), options->what, options->when);
	return -1;
}

static void find_rules(struct vt_explain *explain)
{
	struct vt_attribution *attribution = &explain->analysis->attribution;
	const struct vt_rule *rule;

	if (explain->a->holds_blocks)
		return;
	rule = vt_attribution_rule(attribution,
				   vt_attribution_judge(attribution, explain->allocation));
	explain->rule = rule;
	while (rule && explain->nr_next < VT_EXPLAIN_NEXT_MAX) {
		rule = vt_match_rule(&attribution->match, explain->a, rule);
		if (rule)
			explain->next[explain->nr_next++] = rule;
	}
}

static int is_same_name(const struct vt_tensor *x, const struct vt_tensor *y)
{
	return x->role == y->role && x->name == y->name && x->holder == y->holder &&
	       x->shape == y->shape;
}

static void find_names(struct vt_explain *explain)
{
	uint32_t nr, k;
	const uint32_t *rows =
		vt_names_rows(&explain->analysis->facts.names, explain->allocation, &nr);

	explain->names = vt_xcalloc((size_t)nr + 1, sizeof(*explain->names));
	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_tensor *tensor = &explain->analysis->model.tensors[rows[i]];

		for (k = 0; k < explain->nr_names; k++)
			if (is_same_name(explain->names[k].first, tensor))
				break;
		if (k == explain->nr_names)
			explain->names[explain->nr_names++].first = tensor;
		explain->names[k].seen++;
	}
}

int vt_explain_init(struct vt_explain *explain, struct vt_analysis *analysis,
		    const struct vt_explain_options *options, struct vt_diag *diag)
{
	struct vt_blocks_options wanted = { .device = VT_WHEN_ALL_DEVICES,
					    .has_all_frames = options->has_all_frames };
	char when[32];

	memset(explain, 0, sizeof(*explain));
	explain->analysis = analysis;
	if (find_block(explain, options, diag))
		return -1;
	explain->a = &analysis->model.allocations[explain->allocation];
	snprintf(when, sizeof(when), "event:%" PRId64, (int64_t)explain->a->event);
	wanted.when = when;
	if (vt_blocks_init(&explain->blocks, analysis, &wanted, diag))
		return -1;
	find_rules(explain);
	find_names(explain);
	explain->module = vt_module_path_module(&analysis->facts, explain->a);
	return 0;
}

void vt_explain_release(struct vt_explain *explain)
{
	vt_blocks_release(&explain->blocks);
	free(explain->names);
	free(explain->module);
	memset(explain, 0, sizeof(*explain));
}

const char *vt_explain_role(const struct vt_tensor *tensor)
{
	size_t count;
	const char *const *words = vt_fact_table_words(VT_FACT_ROLE, &count);

	return tensor->role < count && words[tensor->role] ? words[tensor->role] : "?";
}

const char *vt_explain_flags(const struct vt_tensor *tensor, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s",
		 tensor->flags & VT_TENSOR_REQUIRES_GRAD ? " requires-grad" : "",
		 tensor->flags & VT_TENSOR_LEAF ? " leaf" : "",
		 tensor->flags & VT_TENSOR_VIEW ? " view" : "");
	return *text ? text + 1 : text;
}
