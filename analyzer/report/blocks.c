/* SPDX-License-Identifier: MIT */
#include "analyzer/report/blocks.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/attribution/inference/module_path.h"
#include "analyzer/attribution/keepers.h"
#include "analyzer/output/json.h"
#include "analyzer/output/table.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/model/producer.h"
#include "analyzer/attribution/moments.h"

#define KIND_WORD(name, number, text, ...) [number] = text,
static const char *const kind_words[] = { VT_KINDS(KIND_WORD) };

const char *vt_blocks_kind(const struct vt_allocation *a)
{
	return a->common->kind < VT_ARRAY_SIZE(kind_words) && kind_words[a->common->kind]
		       ? kind_words[a->common->kind]
		       : "?";
}

static int compare_blocks(const void *a, const void *b, void *model)
{
	const struct vt_allocation *all = ((const struct vt_model *)model)->allocations;
	const struct vt_allocation *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];

	if (x->common->size_bytes != y->common->size_bytes)
		return x->common->size_bytes > y->common->size_bytes ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static int is_listed(const struct vt_allocation *a, const struct vt_blocks_options *options,
		     int64_t event)
{
	if (!vt_allocation_is_live(a, event) || a->common->kind == VT_KIND_ADDRESS)
		return 0;
	if (options->device != VT_WHEN_ALL_DEVICES && a->common->device != options->device)
		return 0;
	return !a->holds_blocks || options->has_segments;
}

int vt_blocks_init(struct vt_blocks *blocks, struct vt_analysis *analysis,
		   const struct vt_blocks_options *options, struct vt_diag *diag)
{
	struct vt_model *model = &analysis->model;
	VT_VECTOR(uint32_t) found = { 0 };

	memset(blocks, 0, sizeof(*blocks));
	blocks->analysis = analysis;
	vt_describe_init(&blocks->describe, model, options->has_all_frames);
	if (vt_moments_resolve(&analysis->stages, options->when, options->device, &blocks->event,
			       diag))
		return -1;
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (is_listed(&model->allocations[i], options, blocks->event))
			vt_vector_push(&found, i);
	blocks->allocations = found.items;
	blocks->nr = (uint32_t)found.len;
	if (found.len)
		qsort_r(found.items, found.len, sizeof(*found.items), compare_blocks, model);
	return 0;
}

void vt_blocks_release(struct vt_blocks *blocks)
{
	vt_describe_release(&blocks->describe);
	free(blocks->allocations);
	memset(blocks, 0, sizeof(*blocks));
}

/* One listed allocation with what was judged about it. */
struct entry {
	const struct vt_allocation *a;
	char *owner; /* NULL: it holds blocks, which have owners of their own */
	char *module;
	const char *provenance;
	uint8_t training; /* enum vt_training */
	const char *stage;
	uint32_t step;
};

static struct entry judge(struct vt_blocks *blocks, uint32_t index)
{
	struct vt_analysis *analysis = blocks->analysis;
	struct entry e = { .a = &analysis->model.allocations[index] };
	const struct vt_span *span = vt_facts_span(&analysis->facts, e.a);

	if (!e.a->holds_blocks) {
		struct vt_verdict verdict = vt_attribution_judge(&analysis->attribution, index);

		e.owner = vt_attribution_path(&analysis->attribution, index);
		e.module = vt_module_path_module(&analysis->facts, e.a);
		e.provenance = vt_evidence_provenances[verdict.provenance];
		e.training = verdict.training;
	}
	if (span) {
		e.stage = vt_evidence_stages[span->stage];
		e.step = span->step;
	}
	return e;
}

static void release(struct entry *e)
{
	free(e->owner);
	free(e->module);
}

static json_t *modules(const struct vt_blocks *blocks, const struct vt_allocation *a)
{
	const struct vt_analysis *analysis = blocks->analysis;
	json_t *array = json_array();
	uint32_t nr;
	const struct vt_module_link *links = vt_module_stacks_get(
		&analysis->stages.module_stacks, vt_producer_stack(&analysis->model, a), &nr);

	for (uint32_t i = 0; i < nr; i++)
		vt_json_append(array, vt_model_text(&analysis->model, links[i].type));
	return array;
}

/* In the words of the report's table of keepers. */
static void add_keeper(struct vt_blocks *blocks, uint32_t index, json_t *object)
{
	struct vt_analysis *analysis = blocks->analysis;
	const char *keeper = NULL;
	char *detail = NULL;

	if (!analysis->model.allocations[index].holds_blocks)
		keeper = vt_keepers_words[vt_keepers_find(
			&analysis->attribution, &blocks->describe, index, &detail)];
	vt_json_set(object, "keeper", keeper);
	vt_json_set(object, "keeper_detail", detail);
	free(detail);
}

json_t *vt_blocks_json(struct vt_blocks *blocks, uint32_t allocation)
{
	struct entry e = judge(blocks, allocation);
	json_t *object = json_object();

	vt_json_set(object, "id", e.a->event);
	vt_json_set(object, "device", e.a->common->device);
	vt_json_set(object, "address", e.a->address);
	vt_json_set(object, "size_bytes", e.a->common->size_bytes);
	vt_json_set(object, "kind", vt_blocks_kind(e.a));
	vt_json_set(object, "owner", e.owner);
	vt_json_set(object, "provenance", e.provenance);
	vt_json_set_if(object, "trained", e.training,
		       json_boolean(e.training == VT_TRAINING_TRAINED));
	vt_json_set(object, "allocated_event", e.a->event);
	vt_json_set_if(object, "step", e.step, e.step);
	vt_json_set(object, "stage", e.stage);
	vt_json_set(object, "python",
		    vt_json_lines(vt_describe_python(&blocks->describe,
						     e.a->common->made->python_stack)));
	vt_json_set(object, "forward_python",
		    vt_json_lines(vt_describe_python(&blocks->describe,
						     e.a->common->made->forward_python_stack)));
	vt_json_set(object, "modules", modules(blocks, e.a));
	vt_json_set(object, "module", e.module);
	add_keeper(blocks, allocation, object);
	vt_json_set(object, "native",
		    vt_json_lines(vt_describe_native(&blocks->describe,
						     e.a->common->made->native_stack)));
	release(&e);
	return object;
}

json_t *vt_blocks_moment_json(const struct vt_blocks *blocks)
{
	int64_t time_ns = vt_timeline_time(&blocks->analysis->timeline, blocks->event);
	json_t *at = json_object();

	vt_json_set(at, "event", blocks->event);
	vt_json_set(at, "time_ns", time_ns);
	return at;
}

void vt_blocks_print_json(struct vt_blocks *blocks, FILE *out)
{
	json_t *object = json_object(), *array = json_array();

	for (uint32_t i = 0; i < blocks->nr; i++)
		json_array_append_new(array, vt_blocks_json(blocks, blocks->allocations[i]));
	vt_json_set(object, "format", 1);
	vt_json_set(object, "at", vt_blocks_moment_json(blocks));
	vt_json_set(object, "blocks", array);
	vt_json_print(object, out);
}

/* The innermost frame that is to be seen. */
static char *where(const struct vt_blocks *blocks, const struct vt_allocation *a)
{
	struct vt_lines lines = vt_producer_lines(&blocks->describe, a);
	char *text = vt_xstrdup(lines.nr ? lines.text[0] : "");

	vt_lines_free(&lines);
	return text;
}

void vt_blocks_print_text(struct vt_blocks *blocks, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "id", 1 },    { "device", 1 },   { "kind", 0 },  { "size", 1 },
		{ "owner", 0 }, { "known by", 0 }, { "stage", 0 }, { "where", 0 },
	};
	char size[VT_UNITS_MAX], time[VT_UNITS_MAX];
	struct vt_table table;
	uint64_t sum = 0;

	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (uint32_t i = 0; i < blocks->nr; i++) {
		struct entry e = judge(blocks, blocks->allocations[i]);
		char id[24], device[16], stage[48];
		char *place = where(blocks, e.a);
		const char *cells[] = { id,      device,       vt_blocks_kind(e.a), size,
					e.owner, e.provenance, stage,        place };

		snprintf(id, sizeof(id), "%" PRId64, (int64_t)e.a->event);
		snprintf(device, sizeof(device), "%d", e.a->common->device);
		vt_units_bytes(size, sizeof(size), e.a->common->size_bytes);
		if (e.step)
			snprintf(stage, sizeof(stage), "%s %u", e.stage, e.step);
		else
			snprintf(stage, sizeof(stage), "%s", e.stage ? e.stage : "");
		vt_table_add(&table, cells);
		sum += e.owner ? e.a->common->size_bytes : 0;
		free(place);
		release(&e);
	}
	fprintf(out, "%u live after event %" PRId64 " (t=%s), %s\n", blocks->nr, blocks->event,
		vt_units_duration(
			time, sizeof(time),
			(uint64_t)vt_timeline_time(&blocks->analysis->timeline, blocks->event)),
		vt_units_bytes(size, sizeof(size), sum));
	if (blocks->nr)
		vt_table_print(&table, out, 0);
	vt_table_release(&table);
}
