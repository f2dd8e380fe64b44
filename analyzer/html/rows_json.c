/* SPDX-License-Identifier: MIT */
#include "analyzer/html/rows.h"

#include <string.h>

#include "analyzer/attribution/keepers.h"
#include "analyzer/attribution/inference/module_path.h"
#include "analyzer/report/blocks.h"
#include "analyzer/analysis/books_json.h"
#include "analyzer/output/json.h"
#include "analyzer/report/peak_context.h"

/* A row as the numbers of its columns. */
#define FIELDS(X)                                                                                  \
	X(EVENT, "event")                                                                          \
	X(FREED, "freed") /* 0: never */                                                           \
	X(US, "us")                                                                                \
	X(FREED_US, "freed_us")                                                                    \
	X(DEVICE, "device")                                                                        \
	X(ADDRESS, "address")                                                                      \
	X(SIZE, "size")                                                                            \
	X(KIND, "kind")       /* text, as the next */                                              \
	X(OWNER, "owner")     /* 0: it holds blocks, which have owners */                          \
	X(NAME, "name")       /* of the one thing, where it has one */                             \
	X(MODULE, "module")                                                                        \
	X(KEEPER, "keeper")                                                                        \
	X(PYTHON, "python")   /* node, as the next */                                              \
	X(NATIVE, "native")                                                                        \
	X(STEP, "step")                                                                            \
	X(HOLDS, "holds")     /* blocks lie in it */                                               \
	X(LIFETIME, "lifetime")

#define FIELD_ENUM(name, text) FIELD_##name,
enum { FIELDS(FIELD_ENUM) NR_FIELDS };
#undef FIELD_ENUM
#define FIELD_TEXT(name, text) text,
static const char *const fields[NR_FIELDS] = { FIELDS(FIELD_TEXT) };
#undef FIELD_TEXT

static void judge(struct vt_analysis *analysis, struct vt_page_stacks *stacks, uint32_t index,
		  int64_t *row)
{
	const struct vt_allocation *a = &analysis->model.allocations[index];
	struct vt_verdict verdict = vt_attribution_judge(&analysis->attribution, index);
	const char *owner = vt_attribution_owner(&analysis->attribution, verdict.owner);
	char *path = vt_attribution_path(&analysis->attribution, index);
	char *module = vt_module_path_module(&analysis->facts, a), *detail = NULL, *keeper;

	row[FIELD_OWNER] = vt_page_strings_number(stacks->strings, owner);
	if (strlen(path) > strlen(owner) + 1)
		row[FIELD_NAME] =
			vt_page_strings_number(stacks->strings, path + strlen(owner) + 1);
	row[FIELD_MODULE] = vt_page_strings_number(stacks->strings, module);
	keeper = vt_keepers_text(vt_keepers_find(&analysis->attribution, stacks->describe, index,
						 &detail), detail);
	row[FIELD_KEEPER] = vt_page_strings_number(stacks->strings, keeper);
	free(keeper);
	free(detail);
	free(module);
	free(path);
}

static void fill(const struct vt_page_rows *rows, struct vt_page_stacks *stacks, size_t i,
		 int64_t *row)
{
	struct vt_analysis *analysis = rows->moments->analysis;
	uint32_t index = rows->all.items[i];
	const struct vt_allocation *a = &analysis->model.allocations[index];
	const struct vt_span *span = vt_facts_span(&analysis->facts, a);

	memset(row, 0, NR_FIELDS * sizeof(*row));
	row[FIELD_EVENT] = a->event;
	row[FIELD_FREED] = a->freed_event == VT_NEVER ? 0 : a->freed_event;
	row[FIELD_US] = vt_model_made_ns(&analysis->model, a) / 1000;
	row[FIELD_FREED_US] =
		a->freed_event == VT_NEVER ? 0 : vt_model_freed_ns(&analysis->model, a) / 1000;
	row[FIELD_DEVICE] = a->common->device;
	row[FIELD_ADDRESS] = (int64_t)a->address;
	row[FIELD_SIZE] = (int64_t)a->common->size_bytes;
	row[FIELD_KIND] = vt_page_strings_number(stacks->strings, vt_blocks_kind(a));
	row[FIELD_STEP] = span ? span->step : 0;
	row[FIELD_LIFETIME] = rows->is_lifetime[i];
	row[FIELD_HOLDS] = a->holds_blocks;
	if (vt_allocation_is_owned(a)) {
		judge(analysis, stacks, index, row);
		row[FIELD_PYTHON] = vt_page_stacks_python(stacks, a);
		row[FIELD_NATIVE] = vt_page_stacks_native(stacks, a);
	}
}

static json_t *names_json(const struct vt_page_moment *moment)
{
	json_t *names = json_array();

	for (size_t i = 0; i < moment->names.len; i++)
		json_array_append_new(names, vt_json_text(moment->names.items[i]));
	return names;
}

static json_t *moment_json(const struct vt_page_rows *rows, const struct vt_page_moment *moment)
{
	struct vt_analysis *analysis = rows->moments->analysis;
	json_t *object = json_object();
	struct vt_peak_context place;
	struct vt_books books;
	char *stage;

	json_object_set_new(object, "device", json_integer(moment->device->id));
	json_object_set_new(object, "names", names_json(moment));
	vt_peak_context_find(&place, analysis, moment->event);
	vt_peak_context_json(&place, object);
	stage = vt_peak_context_stage(&place);
	json_object_set_new(object, "place", vt_json_text(stage));
	free(stage);
	vt_peak_context_release(&place);
	vt_books_init_of(&books, &analysis->attribution, moment->device->id, moment->event,
			 moment->live.items, (uint32_t)moment->live.len);
	vt_books_json_set(object, &books);
	vt_books_release(&books);
	return object;
}

static json_t *rest_json(const struct vt_page_rows *rows, struct vt_page_stacks *stacks)
{
	const struct vt_attribution *attribution = &rows->moments->analysis->attribution;
	json_t *array = json_array();

	for (size_t i = 0; i < rows->rest.len; i++) {
		const struct vt_page_rest *rest = &rows->rest.items[i];
		const char *owner = vt_attribution_owner(attribution, rest->owner);

		json_array_append_new(
			array, json_pack("[i,i,i,i,I,i]", (int)rest->moment,
					 (int)vt_page_strings_number(stacks->strings, owner),
					 (int)rest->python, (int)rest->native,
					 (json_int_t)rest->bytes, (int)rest->blocks));
	}
	return array;
}

void vt_page_rows_json(const struct vt_page_rows *rows, struct vt_page_stacks *stacks,
		       struct vt_pack *pack, json_t *object)
{
	int64_t *numbers = vt_xcalloc((rows->all.len + 1) * NR_FIELDS, sizeof(*numbers));
	json_t *moments = json_array(), *about = json_object();

	for (size_t i = 0; i < rows->all.len; i++)
		fill(rows, stacks, i, numbers + i * NR_FIELDS);
	for (unsigned f = 0; f < NR_FIELDS; f++) {
		vt_pack_begin(pack, "block.%s", fields[f]);
		for (size_t i = 0; i < rows->all.len; i++)
			vt_pack_put(pack, numbers[i * NR_FIELDS + f]);
		vt_pack_end(pack);
	}
	free(numbers);
	for (size_t m = 0; m < rows->moments->all.len; m++)
		json_array_append_new(moments, moment_json(rows, &rows->moments->all.items[m]));
	json_object_set_new(about, "least_bytes", vt_json_integer(rows->least_bytes));
	json_object_set_new(about, "lifetimes", json_integer(rows->nr_lifetimes));
	json_object_set_new(about, "blocks", json_integer(rows->nr_blocks));
	json_object_set_new(about, "shown_area",
			    json_real(rows->area > 0 ? rows->lifetime_area / rows->area : 1));
	json_object_set_new(object, "rows", about);
	json_object_set_new(object, "rest", rest_json(rows, stacks));
	json_object_set_new(object, "moments", moments);
	json_object_set_new(object, "first_moment", json_integer(rows->moments->first_shown));
	json_object_set_new(object, "moments_left_out", json_integer(rows->moments->nr_left_out));
	json_object_set(object, "strings", stacks->strings->all);
}
