/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/checkpoint_search_print.h"

#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/output/json.h"

#define FORMAT 1

static const char assumed[] =
	"same operations in the same order; a checkpointed layer keeps its input and allocates "
	"again in backward what its forward allocated";

static size_t count(const struct vt_checkpoint_search *fitting, const uint8_t *chosen)
{
	size_t nr = 0;

	for (size_t i = 0; i < fitting->layers.len; i++)
		nr += chosen[i];
	return nr;
}

static void print_set(const struct vt_checkpoint_search *fitting, const uint8_t *chosen,
		      double bytes, FILE *out)
{
	double flops = vt_checkpoint_search_flops(fitting, chosen);
	char b[VT_UNITS_MAX];

	fprintf(out, "  %zu of %zu layers, allocated peak %s", count(fitting, chosen),
		fitting->layers.len, vt_units_bytes(b, sizeof(b), (uint64_t)bytes));
	if (flops > 0)
		fprintf(out, ", %.3g FLOPs computed again (%+.1f %% of a step's products)", flops,
			100 * flops / fitting->step_flops);
	fputc('\n', out);
	for (size_t i = 0; i < fitting->layers.len; i++)
		if (chosen[i])
			fprintf(out, "    %s  keeps %s\n", fitting->layers.items[i].path,
				vt_units_bytes(b, sizeof(b), fitting->layers.items[i].kept_bytes));
}

static void print_answer(const struct vt_checkpoint_search *fitting, FILE *out)
{
	char b[VT_UNITS_MAX];

	if (fitting->result == VT_COVER_NONE) {
		fprintf(out, "checkpointing is not enough: with all %zu layers the peak is %s\n",
			fitting->layers.len,
			vt_units_bytes(b, sizeof(b), (uint64_t)fitting->least_bytes));
	} else if (fitting->result == VT_COVER_GIVEN_UP) {
		fputs("too many combinations to try them all; with all layers the peak is ", out);
		fprintf(out, "%s\n", vt_units_bytes(b, sizeof(b), (uint64_t)fitting->least_bytes));
	} else if (!count(fitting, fitting->chosen)) {
		fputs("fits as recorded\n", out);
	} else {
		fputs("CHECKPOINT  cheapest layers\n", out);
		print_set(fitting, fitting->chosen, fitting->bytes, out);
		fputs("next cheaper combination (does not fit)\n", out);
		print_set(fitting, fitting->nearest, fitting->nearest_bytes, out);
	}
}

void vt_checkpoint_search_print_text(const struct vt_checkpoint_search *fitting, FILE *out)
{
	char b[3][VT_UNITS_MAX];

	fprintf(out, "from %s: allocated peak %s, budget %s less %s for the context\n",
		vt_db_shown_path(fitting->analysis->db),
		vt_units_bytes(b[0], sizeof(b[0]), (uint64_t)fitting->was_bytes),
		vt_units_bytes(b[1], sizeof(b[1]), fitting->budget_bytes),
		vt_units_bytes(b[2], sizeof(b[2]), fitting->context_bytes));
	fprintf(out, "assumed: %s\n", assumed);
	if (fitting->unfinished)
		fprintf(out, "note: %s\n", fitting->unfinished);
	if (!fitting->step_flops && fitting->layers.len)
		fputs("note: operators were not observed; layers are priced by the bytes that they "
		      "keep\n",
		      out);
	fputc('\n', out);
	print_answer(fitting, out);
}

static json_t *set_of(const struct vt_checkpoint_search *fitting, const uint8_t *chosen,
		      double bytes)
{
	json_t *object = json_object(), *layers = json_array();

	for (size_t i = 0; i < fitting->layers.len; i++)
		if (chosen[i])
			json_array_append_new(layers, json_string(fitting->layers.items[i].path));
	vt_json_set(object, "layers", layers);
	vt_json_set(object, "recomputed_flops",
		    vt_json_rounded(vt_checkpoint_search_flops(fitting, chosen)));
	vt_json_set(object, "allocated_bytes", vt_json_rounded(bytes));
	return object;
}

static json_t *layers_of(const struct vt_checkpoint_search *fitting)
{
	json_t *layers = json_array();

	for (size_t i = 0; i < fitting->layers.len; i++) {
		json_t *layer = vt_json_append_object(layers);

		vt_json_set(layer, "path", fitting->layers.items[i].path);
		vt_json_set(layer, "kept_bytes", fitting->layers.items[i].kept_bytes);
		vt_json_set(layer, "flops", vt_json_rounded(fitting->layers.items[i].flops));
	}
	return layers;
}

void vt_checkpoint_search_print_json(const struct vt_checkpoint_search *fitting, FILE *out)
{
	json_t *object = json_object();
	int is_found = fitting->result == VT_COVER_FOUND;

	vt_json_set(object, "format", (uint64_t)FORMAT);
	vt_json_set(object, "from", vt_db_path(fitting->analysis->db));
	vt_json_set(object, "assumption", assumed);
	vt_json_set(object, "note", fitting->unfinished);
	vt_json_set(object, "budget_bytes", fitting->budget_bytes);
	vt_json_set(object, "context_bytes", fitting->context_bytes);
	vt_json_set(object, "recorded_allocated_bytes", vt_json_rounded(fitting->was_bytes));
	vt_json_set(object, "step_flops", vt_json_rounded(fitting->step_flops));
	vt_json_set(object, "layers", layers_of(fitting));
	vt_json_set(object, "checkpointed",
		    is_found ? set_of(fitting, fitting->chosen, fitting->bytes) : json_null());
	vt_json_set(object, "next_cheaper",
		    is_found && fitting->nearest
			    ? set_of(fitting, fitting->nearest, fitting->nearest_bytes)
			    : json_null());
	vt_json_set(object, "least_allocated_bytes", vt_json_rounded(fitting->least_bytes));
	vt_json_print(object, out);
}
