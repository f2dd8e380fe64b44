/* SPDX-License-Identifier: MIT */
#include "analyzer/base/util.h"
#include "analyzer/output/json.h"
#include "analyzer/report/explain.h"

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
	vt_json_set(object, "name", rule->name);
	vt_json_set(object, "owner", path);
	vt_json_set(object, "provenance", vt_evidence_provenances[provenance]);
	vt_json_set(object, "reason", rule->reason);
	free(path);
	return object;
}

static json_t *facts_json(struct vt_explain *explain)
{
	json_t *object = json_object();

	for (int fact = 0; fact < VT_NR_FACTS; fact++) {
		char *text = vt_conditions_fact(&explain->analysis->attribution.match.conditions,
						explain->a, (enum vt_fact)fact);

		if (text)
			vt_json_set(object, vt_fact_table_key((enum vt_fact)fact), text);
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
		json_t *object = vt_json_append_object(array);
		char flags[64];

		vt_json_set(object, "role", vt_explain_role(t));
		vt_json_set(object, "name", vt_model_text(model, t->name));
		vt_json_set(object, "holder", vt_model_text(model, t->holder));
		vt_json_set(object, "dtype", vt_model_text(model, t->dtype));
		vt_json_set(object, "shape", vt_model_text(model, t->shape));
		vt_json_set(object, "flags", vt_explain_flags(t, flags, sizeof(flags)));
		vt_json_set(object, "event", t->event);
		vt_json_set(object, "seen", explain->names[i].seen);
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
	vt_json_set(object, "event", a->freed_event);
	vt_json_set(object, "time_ns", vt_model_freed_ns(&explain->analysis->model, a));
	vt_json_set(object, "stage", stage_at(&explain->analysis->stages, a->freed_event));
	vt_json_set(object, "python",
		    vt_json_lines(vt_describe_python(describe, a->common->freed->python_stack)));
	vt_json_set(object, "native",
		    vt_json_lines(vt_describe_native(describe, a->common->freed->native_stack)));
	return object;
}

void vt_explain_json_print(struct vt_explain *explain, FILE *out)
{
	json_t *object = json_object(), *others = json_array();

	for (unsigned i = 0; i < explain->nr_next; i++)
		json_array_append_new(others, rule_json(explain, explain->next[i]));
	vt_json_set(object, "format", 1);
	vt_json_set(object, "block", vt_blocks_json(&explain->blocks, explain->allocation));
	vt_json_set(object, "freed", freed_json(explain));
	vt_json_set(object, "rule", rule_json(explain, explain->rule));
	vt_json_set(object, "next_rules", others);
	vt_json_set(object, "names", names_json(explain));
	vt_json_set(object, "facts", facts_json(explain));
	vt_json_print(object, out);
}
