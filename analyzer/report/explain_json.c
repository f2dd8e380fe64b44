/* SPDX-License-Identifier: MIT */
#include "analyzer/base/util.h"
#include "analyzer/report/explain.h"
#include "analyzer/report/json.h"

static json_t *rule_json(struct vt_explain *explain, const struct vt_rule *rule)
{
	struct vt_attribution *attribution = &explain->analysis->attribution;
	enum vt_provenance provenance =
		vt_attribution_provenance_by(attribution, rule, explain->allocation);
	json_t *object;
	char *path;

	if (!rule)
		return json_null();
	object = json_object();
	path = vt_attribution_path_by(attribution, rule, explain->allocation);
	json_object_set_new(object, "name", vt_json_text(rule->name));
	json_object_set_new(object, "owner", vt_json_text(path));
	json_object_set_new(object, "provenance",
			    vt_json_text(vt_evidence_provenances[provenance]));
	json_object_set_new(object, "reason", vt_json_text(rule->reason));
	free(path);
	return object;
}

static json_t *facts_json(struct vt_explain *explain)
{
	json_t *object = json_object();

	for (int fact = 0; fact < VT_NR_FACTS; fact++) {
		char *text = vt_match_fact(&explain->analysis->attribution.match, explain->a,
					   (enum vt_fact)fact);

		if (text)
			json_object_set_new(object, vt_fact_table_key((enum vt_fact)fact),
					    vt_json_text(text));
		free(text);
	}
	return object;
}

static json_t *names_json(const struct vt_explain *explain)
{
	const struct vt_model *model = &explain->analysis->model;
	json_t *array = json_array();

	for (uint32_t i = 0; i < explain->nr_names; i++) {
		const struct vt_tensor *t = explain->names[i].first;
		json_t *object = json_object();
		char flags[64];

		json_object_set_new(object, "role", vt_json_text(vt_explain_role(t)));
		json_object_set_new(object, "name", vt_json_text(vt_model_text(model, t->name)));
		json_object_set_new(object, "holder",
				    vt_json_text(vt_model_text(model, t->holder)));
		json_object_set_new(object, "dtype", vt_json_text(vt_model_text(model, t->dtype)));
		json_object_set_new(object, "shape", vt_json_text(vt_model_text(model, t->shape)));
		json_object_set_new(object, "flags",
				    vt_json_text(vt_explain_flags(t, flags, sizeof(flags))));
		json_object_set_new(object, "event", json_integer(t->event));
		json_object_set_new(object, "seen", json_integer(explain->names[i].seen));
		json_array_append_new(array, object);
	}
	return array;
}

static const char *stage_at(const struct vt_stages *stages, int64_t event)
{
	uint32_t span = vt_stages_span_at(stages, event);

	return span == VT_NO_INDEX ? NULL : vt_evidence_stages[stages->spans[span].stage];
}

static json_t *freed_json(const struct vt_explain *explain)
{
	const struct vt_allocation *a = explain->a;
	const struct vt_describe *describe = &explain->blocks.describe;
	json_t *object;

	if (a->freed_event == VT_NEVER)
		return json_null();
	object = json_object();
	json_object_set_new(object, "event", json_integer(a->freed_event));
	json_object_set_new(object, "time_ns", json_integer(a->freed_time_ns));
	json_object_set_new(
		object, "stage",
		vt_json_text(stage_at(&explain->analysis->stages, a->freed_event)));
	json_object_set_new(object, "python",
			    vt_json_lines(vt_describe_python(describe, a->freed->python_stack)));
	json_object_set_new(object, "native",
			    vt_json_lines(vt_describe_native(describe, a->freed->native_stack)));
	return object;
}

void vt_explain_json_print(struct vt_explain *explain, FILE *out)
{
	json_t *object = json_object(), *others = json_array();

	for (unsigned i = 0; i < explain->nr_next; i++)
		json_array_append_new(others, rule_json(explain, explain->next[i]));
	json_object_set_new(object, "format", json_integer(1));
	json_object_set_new(object, "block", vt_blocks_json(&explain->blocks, explain->allocation));
	json_object_set_new(object, "freed", freed_json(explain));
	json_object_set_new(object, "rule", rule_json(explain, explain->rule));
	json_object_set_new(object, "next_rules", others);
	json_object_set_new(object, "names", names_json(explain));
	json_object_set_new(object, "facts", facts_json(explain));
	vt_json_print(object, out);
}
