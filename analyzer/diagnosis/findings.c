/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/findings.h"

#include <string.h>

#include "analyzer/base/parallel.h"
#include "analyzer/base/sort.h"
#include "analyzer/diagnosis/find_activations.h"
#include "analyzer/diagnosis/find_cache.h"
#include "analyzer/diagnosis/find_contexts.h"
#include "analyzer/diagnosis/find_engine.h"
#include "analyzer/diagnosis/find_frozen.h"
#include "analyzer/diagnosis/find_gathered.h"
#include "analyzer/diagnosis/find_graphs.h"
#include "analyzer/diagnosis/find_growth.h"
#include "analyzer/diagnosis/find_keys.h"
#include "analyzer/diagnosis/find_logits.h"
#include "analyzer/diagnosis/find_modules.h"
#include "analyzer/diagnosis/find_results.h"
#include "analyzer/diagnosis/find_states.h"
#include "analyzer/diagnosis/find_unneeded.h"
#include "analyzer/diagnosis/find_weights.h"
#include "analyzer/diagnosis/find_workspaces.h"
#include "analyzer/model/when.h"

const struct vt_finding_words vt_findings_words[VT_NR_FINDINGS] = {
#define VT_FINDING(name, ...) { __VA_ARGS__ },
#include "analyzer/diagnosis/finding_table.def"
#undef VT_FINDING
};

enum vt_finding_id vt_findings_find(const char *id)
{
	int found = 0;

	while (found < VT_NR_FINDINGS && strcmp(vt_findings_words[found].id, id))
		found++;
	return found;
}

static int compare_findings(const void *a, const void *b)
{
	const struct vt_finding *x = a, *y = b;

	if (x->saves_bytes != y->saves_bytes)
		return x->saves_bytes > y->saves_bytes ? -1 : 1;
	return x->id != y->id ? (x->id < y->id ? -1 : 1) : x->device - y->device;
}

void vt_findings_prepare(struct vt_traces *traces, int device)
{
	const struct vt_model *model = traces->timeline->model;

	for (uint32_t i = 0; i < model->nr_peaks; i++)
		if ((device == VT_WHEN_ALL_DEVICES || device == model->peaks[i].device) &&
		    vt_trace_has_blocks(model, model->peaks[i].device))
			vt_find_cache_prepare(traces, model->peaks[i].device);
}

/* None of them needs what another finds, or changes what they share. */
static void (*const families[])(struct vt_finding_context *) = {
	vt_find_activations_detect, /* the longest first */
	vt_find_growth_detect,      vt_find_states_detect,     vt_find_logits_detect,
	vt_find_results_detect,     vt_find_unneeded_detect,   vt_find_frozen_detect,
	vt_find_weights_detect,     vt_find_modules_detect,    vt_find_gathered_detect,
	vt_find_keys_detect,        vt_find_workspaces_detect, vt_find_engine_detect,
};

#define NR_FAMILIES VT_ARRAY_SIZE(families)

/* One device. */
struct detecting {
	struct vt_finding_context *context;
	struct vt_cache_replays *cache;
	struct vt_findings found[NR_FAMILIES];
};

static void graphs_or_play(void *context, size_t number)
{
	struct detecting *detecting = context;

	if (number)
		vt_find_cache_play(detecting->cache);
	else
		vt_find_graphs_detect(detecting->context); /* others leave out what it has */
}

static void detect_family(void *context, size_t number)
{
	struct detecting *detecting = context;
	struct vt_finding_context own = *detecting->context;

	own.findings = &detecting->found[number];
	families[number](&own);
}

static void detect(struct vt_finding_context *context)
{
	struct vt_cache_replays cache;
	struct detecting detecting = { context, &cache, { { 0 } } };

	vt_find_cache_begin(&cache, context);
	vt_parallel_run(2, graphs_or_play, &detecting);
	vt_parallel_run(NR_FAMILIES, detect_family, &detecting);
	for (size_t i = 0; i < NR_FAMILIES; i++) {
		for (size_t k = 0; k < detecting.found[i].len; k++)
			vt_vector_push(context->findings, detecting.found[i].items[k]);
		vt_vector_release(&detecting.found[i]);
	}
	vt_find_growth_drop_told(context);
	vt_find_cache_detect(context, &cache);
}

void vt_findings_init(struct vt_findings *findings, struct vt_attribution *attribution,
		      struct vt_traces *traces, const struct vt_describe *describe, int device)
{
	const struct vt_model *model = attribution->facts->model;

	memset(findings, 0, sizeof(*findings));
	for (uint32_t i = 0; i < model->nr_peaks; i++) {
		const struct vt_peak *peak = &model->peaks[i];
		struct vt_finding_context context = {
			.findings = findings,
			.attribution = attribution,
			.describe = describe,
			.traces = traces,
			.device = peak->device,
		};

		if (device != VT_WHEN_ALL_DEVICES && device != peak->device)
			continue;
		vt_finding_context_init(&context, peak->max_allocated_event);
		detect(&context);
		vt_finding_context_settle(&context);
		vt_finding_context_release(&context);
	}
	vt_find_contexts_detect(findings, attribution->facts, describe, device);
	vt_vector_sort(findings, compare_findings);
}

void vt_findings_release(struct vt_findings *findings)
{
	for (size_t i = 0; i < findings->len; i++)
		vt_finding_release(&findings->items[i]);
	vt_vector_release(findings);
}
