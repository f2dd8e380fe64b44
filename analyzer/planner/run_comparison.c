/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/run_comparison.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/planner/estimate.h"
#include "analyzer/planner/validation.h"

/* What a plan promises of an owner: the larger of the two. */
#define TOLERANCE     0.05
#define TOLERANCE_MIN 0x1p24

/* A change of a setting is told where it takes away this share of all differences. */
#define WORTH_TELLING 0.3

static int is_near(double planned, double measured)
{
	return fabs(planned - measured) <= fmax(TOLERANCE * fmax(planned, measured), TOLERANCE_MIN);
}

static int is_training(const struct vt_run_comparison *comparison)
{
	return vt_plan_is_training(comparison->plan);
}

static int is_context(const char *owner)
{
	return !strcmp(owner, "context");
}

/* The stage of the plan with most bytes among those that happen in the measured one. */
static enum vt_plan_stage choose_stage(const struct vt_plan *plan, unsigned mask)
{
	int best = -1;

	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++)
		if (mask & plan->stages & 1u << stage &&
		    (best < 0 || plan->bytes[stage] > plan->bytes[best]))
			best = stage;
	return best < 0 ? VT_PLANNED_LOAD : (enum vt_plan_stage)best;
}

/* The plan's owners in a stage, in the words that both have. */
static void sum_planned(const struct vt_plan *plan, enum vt_plan_stage stage,
			struct vt_owner_sums *sums)
{
	struct vt_owner_sums own = { 0 };

	vt_owners_of_stage(plan, stage, &own);
	for (size_t i = 0; i < own.len; i++)
		if (!is_context(own.items[i].owner))
			vt_owners_add(sums,
				      vt_measured_owner(own.items[i].owner,
							vt_plan_is_training(plan)),
				      own.items[i].bytes);
	vt_vector_release(&own);
}

static void sum_measured(const struct vt_measured_stage *stage, int has_training,
			 struct vt_owner_sums *sums)
{
	for (size_t i = 0; i < stage->owners.len; i++)
		vt_owners_add(sums, vt_measured_owner(stage->owners.items[i].owner, has_training),
			      stage->owners.items[i].bytes);
}

/* --- how far a plan is from the run ----------------------------------------------------------- */

/* Bytes beyond the tolerance, over all stages and owners. */
static double distance(const struct vt_run_comparison *comparison, const struct vt_plan *plan)
{
	double sum = 0;

	for (unsigned i = 0; i < comparison->measured.nr_stages; i++) {
		const struct vt_measured_stage *stage = &comparison->measured.stages[i];
		struct vt_owner_sums planned = { 0 }, measured = { 0 };

		sum_planned(plan, choose_stage(plan, stage->planned), &planned);
		sum_measured(stage, is_training(comparison), &measured);
		for (size_t j = 0; j < measured.len; j++) {
			const struct vt_owner_sum *one = &measured.items[j];
			double there = vt_owners_find(&planned, one->owner);

			sum += is_near(there, one->bytes) ? 0 : fabs(there - one->bytes);
		}
		for (size_t j = 0; j < planned.len; j++) {
			const struct vt_owner_sum *one = &planned.items[j];

			if (vt_owners_find(&measured, one->owner) == 0)
				sum += is_near(one->bytes, 0) ? 0 : one->bytes;
		}
		vt_vector_release(&planned);
		vt_vector_release(&measured);
	}
	return sum;
}

/* --- which settings would come nearer --------------------------------------------------------- */

struct search {
	const struct vt_run_comparison *comparison;
	struct vt_plan_settings settings; /* with the changes found so far */
	double best;                      /* distance */
	struct vt_run_comparison_change change;
};

static void try(struct search *search, enum vt_setting id, const char *value)
{
	const struct vt_plan *plan = search->comparison->plan;
	struct vt_plan_settings settings = search->settings;
	struct vt_plan changed = { .model = plan->model, .gpu = plan->gpu, .settings = &settings };
	struct vt_diag diag = { 0 };
	double found;

	if (vt_plan_settings_set(&settings, id, value, &diag) ||
	    settings.value[id] == search->settings.value[id] ||
	    vt_validate_settings(&settings, &diag))
		return;
	if (!vt_estimate_make(&changed, &diag)) {
		found = distance(search->comparison, &changed);
		if (found < search->best) {
			search->best = found;
			search->change.id = id;
			snprintf(search->change.value, sizeof(search->change.value), "%s", value);
		}
	}
	vt_plan_release(&changed);
}

/* Twice and half are tried of what multiplies everything. */
static void try_number(struct search *search, enum vt_setting id)
{
	long long now = search->settings.value[id];
	char value[32];

	for (int i = 1; i <= 3; i++) {
		if (now <= LLONG_MAX >> i) {
			snprintf(value, sizeof(value), "%lld", now << i);
			try(search, id, value);
		}
		snprintf(value, sizeof(value), "%lld", now >> i);
		try(search, id, value);
	}
}

/* What there is nothing of in the model explains nothing. */
static int is_possible(const struct vt_plan *plan, int id)
{
	return id != VT_SET_MODE &&
	       (id != VT_SET_FREEZE || plan->model->stacks[VT_PART_VISION].hidden);
}

static void try_all(struct search *search)
{
	static const enum vt_setting numbers[] = { VT_SET_BATCH, VT_SET_SEQ, VT_SET_ACCUMULATE };
	const struct vt_scaling_size *size = &search->comparison->measured.size;
	char word[32];

	/* What was seen counts before what would do as well: 4 x 1024 tokens for 8 x 512. */
	snprintf(word, sizeof(word), "%llu", (unsigned long long)size->batch);
	try(search, VT_SET_BATCH, word);
	snprintf(word, sizeof(word), "%llu", (unsigned long long)size->seq);
	try(search, VT_SET_SEQ, word);
	for (int id = 0; id < VT_NR_SETTINGS; id++)
		for (size_t place = 0;
		     is_possible(search->comparison->plan, id) &&
		     vt_plan_settings_word((enum vt_setting)id, place, word, sizeof(word));
		     place++)
			try(search, (enum vt_setting)id, word);
	for (size_t i = 0; i < VT_ARRAY_SIZE(numbers); i++)
		try_number(search, numbers[i]);
}

/* Replaces an earlier one of the same setting. */
static void keep_change(struct vt_run_comparison *comparison,
			const struct vt_run_comparison_change *change)
{
	unsigned i = 0;

	while (i < comparison->nr_changes && comparison->changes[i].id != change->id)
		i++;
	comparison->changes[i] = *change;
	comparison->nr_changes += i == comparison->nr_changes;
}

static void find_changes(struct vt_run_comparison *comparison, struct vt_plan *changed,
			 struct vt_plan_settings *settings)
{
	struct search search = { .comparison = comparison,
				 .settings = *comparison->plan->settings };
	double before = distance(comparison, comparison->plan);
	struct vt_diag diag = { 0 };

	while (before > 0 && comparison->nr_changes < VT_RUN_COMPARISON_MAX_CHANGES) {
		search.best = before;
		try_all(&search);
		if (search.best > (1 - WORTH_TELLING) * before)
			break;
		vt_plan_settings_set(&search.settings, search.change.id, search.change.value,
				     &diag);
		keep_change(comparison, &search.change);
		before = search.best;
	}
	*settings = search.settings;
	*changed = (struct vt_plan){ .model = comparison->plan->model, .gpu = comparison->plan->gpu,
				     .settings = settings };
	vt_estimate_make(changed, &diag);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Of that owner: the one of the wanted bytes, live in the stage or in any other; NULL: none. */
static const struct vt_term *find_term(const struct vt_run_comparison *comparison,
				       const char *owner, enum vt_plan_stage stage, int is_live,
				       double bytes)
{
	const struct vt_plan *plan = comparison->plan;

	for (size_t i = 0; i < plan->terms.len; i++) {
		const struct vt_term *term = &plan->terms.items[i];

		if (!(term->stages & 1u << stage) == !is_live &&
		    !strcmp(vt_measured_owner(term->owner, is_training(comparison)), owner) &&
		    fabs(term->bytes - bytes) <= TOLERANCE * bytes)
			return term;
	}
	return NULL;
}

static const struct vt_term *largest_term(const struct vt_run_comparison *comparison,
					  const char *owner, enum vt_plan_stage stage)
{
	const struct vt_plan *plan = comparison->plan;
	const struct vt_term *best = NULL;

	for (size_t i = 0; i < plan->terms.len; i++) {
		const struct vt_term *term = &plan->terms.items[i];

		if (term->stages & 1u << stage &&
		    !strcmp(vt_measured_owner(term->owner, is_training(comparison)), owner) &&
		    (!best || term->bytes > best->bytes))
			best = term;
	}
	return best;
}

static void explain(const struct vt_run_comparison *comparison,
		    const struct vt_run_comparison_stage *stage,
		    const struct vt_owner_sums *changed, struct vt_run_comparison_row *row)
{
	double difference = row->planned - row->measured;
	const struct vt_term *found =
		find_term(comparison, row->owner, stage->stage, difference > 0, fabs(difference));

	row->term = largest_term(comparison, row->owner, stage->stage);
	row->reason = row->term ? VT_RUN_COMPARISON_TERM : VT_RUN_COMPARISON_NO_TERM;
	if (is_near(row->planned, row->measured)) {
		row->reason = VT_RUN_COMPARISON_MET;
	} else if (comparison->nr_changes &&
		   is_near(vt_owners_find(changed, row->owner), row->measured)) {
		row->reason = VT_RUN_COMPARISON_SETTING;
	} else if (found) {
		row->reason = difference > 0 ? VT_RUN_COMPARISON_ABSENT : VT_RUN_COMPARISON_STAYS;
		row->term = found;
	}
}

static int compare_rows(const void *a, const void *b)
{
	const struct vt_run_comparison_row *x = a, *y = b;
	double dx = fabs(x->planned - x->measured), dy = fabs(y->planned - y->measured);

	if (dx != dy)
		return dx > dy ? -1 : 1;
	return strcmp(x->owner, y->owner);
}

static void add_rows(struct vt_run_comparison *comparison, struct vt_run_comparison_stage *stage,
		     const struct vt_plan *changed)
{
	struct vt_owner_sums planned = { 0 }, measured = { 0 }, other = { 0 };

	sum_planned(comparison->plan, stage->stage, &planned);
	sum_measured(stage->measured, is_training(comparison), &measured);
	sum_planned(changed, choose_stage(changed, stage->measured->planned), &other);
	for (size_t i = 0; i < measured.len; i++)
		vt_owners_add(&planned, measured.items[i].owner, 0);
	for (size_t i = 0; i < planned.len; i++) {
		struct vt_run_comparison_row row = {
			.owner = planned.items[i].owner,
			.planned = planned.items[i].bytes,
			.measured = vt_owners_find(&measured, planned.items[i].owner),
		};

		explain(comparison, stage, &other, &row);
		vt_vector_push(&stage->rows, row);
		stage->planned += row.planned;
	}
	vt_vector_sort(&stage->rows, compare_rows);
	vt_vector_release(&planned);
	vt_vector_release(&measured);
	vt_vector_release(&other);
}

static void add_stages(struct vt_run_comparison *comparison, const struct vt_plan *changed)
{
	for (unsigned i = 0; i < comparison->measured.nr_stages; i++) {
		struct vt_run_comparison_stage *stage = &comparison->stages[comparison->nr_stages];

		stage->measured = &comparison->measured.stages[i];
		if (!(stage->measured->planned & comparison->plan->stages))
			continue;
		stage->stage = choose_stage(comparison->plan, stage->measured->planned);
		add_rows(comparison, stage, changed);
		comparison->planned_peak = fmax(comparison->planned_peak, stage->planned);
		comparison->measured_peak = fmax(comparison->measured_peak,
					      (double)stage->measured->allocated_bytes);
		comparison->nr_stages++;
	}
}

/* --- an option that explains one owner, though little of all differences ---------------------- */

static int is_explained(const struct vt_run_comparison_row *row)
{
	return row->reason == VT_RUN_COMPARISON_MET || row->reason == VT_RUN_COMPARISON_SETTING;
}

static void offer(struct vt_run_comparison_stage *stage, const struct vt_plan *changed,
		  const struct vt_run_comparison_change *change, double found)
{
	struct vt_owner_sums planned = { 0 };

	sum_planned(changed, choose_stage(changed, stage->measured->planned), &planned);
	for (size_t i = 0; i < stage->rows.len; i++) {
		struct vt_run_comparison_row *row = &stage->rows.items[i];

		if (is_explained(row) || found >= row->option_distance ||
		    !is_near(vt_owners_find(&planned, row->owner), row->measured))
			continue;
		row->reason = VT_RUN_COMPARISON_OPTION;
		row->option = *change;
		row->option_distance = found;
	}
	vt_vector_release(&planned);
}

static void find_option(struct vt_run_comparison *comparison, const struct vt_plan_settings *before,
			double distance_before, enum vt_setting id, const char *value)
{
	struct vt_plan_settings settings = *before;
	struct vt_plan changed = { .model = comparison->plan->model, .gpu = comparison->plan->gpu,
				   .settings = &settings };
	struct vt_run_comparison_change change = { .id = id };
	struct vt_diag diag = { 0 };
	double found;

	snprintf(change.value, sizeof(change.value), "%s", value);
	if (vt_plan_settings_set(&settings, id, value, &diag) ||
	    settings.value[id] == before->value[id] || vt_validate_settings(&settings, &diag))
		return;
	if (!vt_estimate_make(&changed, &diag)) {
		found = distance(comparison, &changed);
		for (unsigned i = 0; found < distance_before && i < comparison->nr_stages; i++)
			offer(&comparison->stages[i], &changed, &change, found);
	}
	vt_plan_release(&changed);
}

/* Of the options that are words: any number meets anything by chance. */
static void find_options(struct vt_run_comparison *comparison, const struct vt_plan *changed)
{
	double before = distance(comparison, changed);
	char word[32];

	for (unsigned i = 0; i < comparison->nr_stages; i++)
		for (size_t j = 0; j < comparison->stages[i].rows.len; j++)
			comparison->stages[i].rows.items[j].option_distance = before;
	for (int id = 0; id < VT_NR_SETTINGS && before > 0; id++)
		for (size_t place = 0;
		     is_possible(comparison->plan, id) &&
		     vt_plan_settings_word((enum vt_setting)id, place, word, sizeof(word));
		     place++)
			find_option(comparison, changed->settings, before, (enum vt_setting)id,
				    word);
}

static const char *dtype_of(double bytes)
{
	return bytes == 4 ? "fp32" : "of 2 bytes";
}

/* A plan of another type compares nothing. */
static int check_dtype(const struct vt_run_comparison *comparison, struct vt_diag *diag)
{
	const char *dtype = comparison->measured.weights_dtype;
	double planned = vt_plan_symbol(comparison->plan, "w");
	double found = !dtype ? 0 : !strcmp(dtype, "float32") ? 4 : strstr(dtype, "16") ? 2 : 0;

	if (!found || found == planned || vt_plan_setting(comparison->plan, VT_SET_QUANTISE))
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE,
		    "%s: its weights are %s, those of the plan %s: give --dtype %s",
		    vt_db_path(comparison->measured.analysis->db), dtype, dtype_of(planned),
		    !strcmp(dtype, "float32") ? "fp32" : !strcmp(dtype, "float16") ? "fp16" :
										     "bf16");
	return -1;
}

int vt_run_comparison_init(struct vt_run_comparison *comparison, const struct vt_plan *plan,
		    struct vt_analysis *analysis, struct vt_diag *diag)
{
	struct vt_plan_settings settings;
	struct vt_plan changed;

	memset(comparison, 0, sizeof(*comparison));
	comparison->plan = plan;
	if (vt_measured_init(&comparison->measured, analysis, vt_plan_is_training(plan), diag) ||
	    check_dtype(comparison, diag))
		return -1;
	find_changes(comparison, &changed, &settings);
	add_stages(comparison, &changed);
	find_options(comparison, &changed);
	for (unsigned i = 0; i < comparison->nr_stages; i++) {
		enum vt_plan_stage stage =
			choose_stage(&changed, comparison->stages[i].measured->planned);

		comparison->changed_peak = fmax(comparison->changed_peak,
					     changed.bytes[stage] -
						     vt_plan_symbol(plan, "context"));
	}
	vt_plan_release(&changed);
	return 0;
}

void vt_run_comparison_release(struct vt_run_comparison *comparison)
{
	for (unsigned i = 0; i < comparison->nr_stages; i++)
		vt_vector_release(&comparison->stages[i].rows);
	vt_measured_release(&comparison->measured);
	memset(comparison, 0, sizeof(*comparison));
}

static void put_change(struct vt_buffer *text, const struct vt_run_comparison_change *change)
{
	vt_buffer_printf(text, " --%s %s", vt_plan_settings_row(change->id)->name, change->value);
}

static char *explain_change(const struct vt_run_comparison *comparison,
			    const struct vt_run_comparison_change *option)
{
	struct vt_buffer text;

	vt_buffer_init(&text);
	vt_buffer_puts(&text, "as with");
	for (unsigned i = 0; i < comparison->nr_changes; i++)
		put_change(&text, &comparison->changes[i]);
	if (option)
		put_change(&text, option);
	return vt_buffer_detach(&text);
}

char *vt_run_comparison_explain(const struct vt_run_comparison *comparison,
			    const struct vt_run_comparison_row *row)
{
	switch (row->reason) {
	case VT_RUN_COMPARISON_SETTING:
		return explain_change(comparison, NULL);
	case VT_RUN_COMPARISON_OPTION:
		return explain_change(comparison, &row->option);
	case VT_RUN_COMPARISON_ABSENT:
		return vt_xasprintf("missing in the run: %s, %s", row->term->formula,
				    row->term->why);
	case VT_RUN_COMPARISON_STAYS:
		return vt_xasprintf("allocated earlier, or kept longer, than planned: %s, %s",
				    row->term->formula, row->term->why);
	case VT_RUN_COMPARISON_TERM:
		return vt_xasprintf("%.2f of the planned bytes, mostly %s: %s",
				    row->measured / row->planned, row->term->formula,
				    row->term->why);
	case VT_RUN_COMPARISON_NO_TERM:
		return vt_xasprintf("no term of the plan in this stage");
	default:
		return NULL;
	}
}
