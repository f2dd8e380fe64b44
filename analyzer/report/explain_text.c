/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "analyzer/attribution/keepers.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/report/explain.h"

static const char *text_of(const struct vt_explain *explain, uint32_t string)
{
	const char *text = vt_model_text(&explain->analysis->model, string);

	return text ? text : "";
}

static void print_names(const struct vt_explain *explain, FILE *out)
{
	for (uint32_t i = 0; i < explain->nr_names; i++) {
		const struct vt_tensor *t = explain->names[i].first;
		char flags[64];

		fprintf(out, "%s  %s %s", i ? "       " : "names  ", vt_explain_role(t),
			text_of(explain, t->name));
		if (t->holder)
			fprintf(out, " in %s", text_of(explain, t->holder));
		fprintf(out, ", %s [%s] %s; seen %u %s, first after event %" PRId64 "\n",
			text_of(explain, t->dtype), text_of(explain, t->shape),
			vt_explain_flags(t, flags, sizeof(flags)), explain->names[i].seen,
			explain->names[i].seen == 1 ? "time" : "times", t->event);
	}
}

static void print_stack(const char *title, struct vt_lines lines, FILE *out)
{
	if (lines.nr)
		fprintf(out, "\n%s\n", title);
	for (unsigned i = 0; i < lines.nr; i++)
		fprintf(out, "  %s\n", lines.text[i]);
	vt_lines_free(&lines);
}

static void print_moment(const struct vt_explain *explain, const char *word, int64_t event,
			 int64_t time_ns, uint32_t thread, FILE *out)
{
	const struct vt_analysis *analysis = explain->analysis;
	uint32_t span = vt_stages_span_at(&analysis->stages, event);
	char time[VT_UNITS_MAX];

	fprintf(out, "%s event %" PRId64 ", t=%s, thread %u", word, event,
		vt_units_duration(time, sizeof(time), (uint64_t)time_ns), thread);
	if (span == VT_NO_INDEX)
		return;
	if (analysis->stages.spans[span].step)
		fprintf(out, ", step %u", analysis->stages.spans[span].step);
	fprintf(out, ", %s", vt_evidence_stages[analysis->stages.spans[span].stage]);
}

static void print_life(const struct vt_explain *explain, FILE *out)
{
	const struct vt_allocation *a = explain->a;
	const struct vt_model *model = &explain->analysis->model;
	char size[VT_UNITS_MAX];

	fprintf(out, "%s %" PRId64 "  0x%" PRIx64 " on cuda:%d  %s", vt_blocks_kind(a),
		(int64_t)a->event, a->address, a->common->device,
		vt_units_bytes(size, sizeof(size), a->common->size_bytes));
	if (a->container != VT_NO_CONTAINER)
		fprintf(out, ", in %s %" PRId64, vt_blocks_kind(&model->allocations[a->container]),
			(int64_t)model->allocations[a->container].event);
	fputc('\n', out);
	print_moment(explain, "made    ", a->event, vt_model_made_ns(model, a),
		     a->common->made->thread, out);
	if (a->freed_event == VT_NEVER) {
		fprintf(out, "\nfreed    not in this recording\n");
		return;
	}
	fputc('\n', out);
	print_moment(explain, "freed   ", a->freed_event, vt_model_freed_ns(model, a),
		     a->common->freed->thread, out);
	fputc('\n', out);
}

/* "names" */
static const char *known_by(struct vt_explain *explain, const struct vt_rule *rule)
{
	return vt_evidence_provenances[vt_attribution_provenance_by(
		&explain->analysis->attribution, rule, explain->allocation)];
}

static void print_verdict(struct vt_explain *explain, FILE *out)
{
	struct vt_attribution *attribution = &explain->analysis->attribution;
	const struct vt_rule *rule = explain->rule;
	char *path;

	if (explain->a->holds_blocks) {
		fprintf(out, "owner    none: the blocks in it have owners\n");
		return;
	}
	path = vt_attribution_path_by(attribution, rule, explain->allocation);
	fprintf(out, "owner    %s\n", path);
	free(path);
	if (!rule) {
		fprintf(out, "no rule matches\n");
		return;
	}
	fprintf(out, "known by %s, rule \"%s\"\n", known_by(explain, rule), rule->name);
	if (rule->reason)
		fprintf(out, "because  %s\n", rule->reason);
	for (unsigned i = 0; i < explain->nr_next; i++) {
		const struct vt_rule *next = explain->next[i];

		path = vt_attribution_path_by(attribution, next, explain->allocation);
		fprintf(out, "%s %s by %s, rule \"%s\"\n", i ? "         " : "otherwise", path,
			known_by(explain, next), next->name);
		free(path);
	}
}

/* Who has to let go before it is free. */
static void print_keeper(struct vt_explain *explain, FILE *out)
{
	enum vt_keeper keeper;
	char *detail, *text;

	if (explain->a->holds_blocks)
		return;
	keeper = vt_keepers_find(&explain->analysis->attribution, &explain->blocks.describe,
				 explain->allocation, &detail);
	text = vt_keepers_text(keeper, detail);
	fprintf(out, "kept by  %s\n", text);
	free(detail);
	free(text);
}

static void print_facts(struct vt_explain *explain, FILE *out)
{
	fprintf(out, "\nfacts available to rules (stacks below)\n");
	for (int fact = 0; fact < VT_NR_FACTS; fact++) {
		char *text = vt_conditions_fact(&explain->analysis->attribution.match.conditions,
						explain->a, (enum vt_fact)fact);

		if (text)
			fprintf(out, "  %-16s %s\n", vt_fact_table_key((enum vt_fact)fact), text);
		free(text);
	}
}

static void print_module(const struct vt_explain *explain, FILE *out)
{
	const char *path = explain->module;
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(&explain->analysis->stages.module_stacks,
				     explain->a->common->made->python_stack, &nr);

	if (path || nr)
		fprintf(out, "module   %s", !path ? "" : *path ? path : "(root)");
	for (uint32_t i = 0; i < nr; i++)
		fprintf(out, "%s%s", i ? " < " : path ? "   " : "",
			text_of(explain, links[i].type));
	if (path || nr)
		fputc('\n', out);
}

void vt_explain_text_print(struct vt_explain *explain, FILE *out)
{
	const struct vt_allocation *a = explain->a;
	const struct vt_describe *describe = &explain->blocks.describe;

	print_life(explain, out);
	fputc('\n', out);
	print_verdict(explain, out);
	print_keeper(explain, out);
	print_module(explain, out);
	print_names(explain, out);
	print_facts(explain, out);
	print_stack("made at", vt_describe_python(describe, a->common->made->python_stack), out);
	print_stack("made in", vt_describe_native(describe, a->common->made->native_stack), out);
	print_stack("for the forward call at",
		    vt_describe_python(describe, a->common->made->forward_python_stack), out);
	print_stack("freed at", vt_describe_python(describe, a->common->freed->python_stack), out);
	print_stack("freed in", vt_describe_native(describe, a->common->freed->native_stack), out);
	print_stack("freed for the forward call at",
		    vt_describe_python(describe, a->common->freed->forward_python_stack), out);
}
