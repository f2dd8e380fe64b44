/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/conditions.h"

#include <string.h>

#include "analyzer/attribution/inference/master_weights.h"
#include "analyzer/model/describe.h"

void vt_conditions_init(struct vt_conditions *conditions, struct vt_facts *facts)
{
	conditions->facts = facts;
	conditions->nr = facts->rules->nr_conditions;
	conditions->memo = vt_xcalloc((size_t)conditions->nr + 1, sizeof(*conditions->memo));
	conditions->of_frames =
		vt_xcalloc((size_t)conditions->nr + 1, sizeof(*conditions->of_frames));
}

void vt_conditions_release(struct vt_conditions *conditions)
{
	for (uint32_t i = 0; i < conditions->nr; i++) {
		free(conditions->memo[i]);
		free(conditions->of_frames[i]);
	}
	free(conditions->memo);
	free(conditions->of_frames);
	memset(conditions, 0, sizeof(*conditions));
}

static uint32_t stage_bit(const struct vt_facts *facts, int64_t event)
{
	uint32_t span = vt_stages_span_at(facts->stages, event);

	return span == VT_NO_INDEX ? 0 : 1u << facts->stages->spans[span].stage;
}

uint32_t vt_conditions_words(const struct vt_facts *facts, const struct vt_allocation *a,
			     enum vt_fact fact)
{
	switch (fact) {
	case VT_FACT_KIND:
		return 1u << a->common->kind;
	case VT_FACT_STAGE:
		return stage_bit(facts, a->event);
	case VT_FACT_FREED_STAGE:
		return a->freed_event == VT_NEVER ? 0 : stage_bit(facts, a->freed_event);
	case VT_FACT_LIFETIME:
		return vt_facts_lifetimes(facts, a);
	case VT_FACT_YIELD:
		return vt_facts_yields(facts, a);
	case VT_FACT_GRAD:
		return vt_facts_grad_modes(facts, a);
	case VT_FACT_MOVED:
		if (!vt_module_apply_is_buffer(&facts->module_apply, a->common->made->python_stack))
			return 0;
		return 1u << VT_MOVED_BUFFER;
	case VT_FACT_MADE_OF:
		return vt_facts_sources(facts, a);
	case VT_FACT_PASS:
		return vt_stages_purposes(facts->stages, a);
	case VT_FACT_PROGRAM:
		return vt_facts_programs(facts);
	case VT_FACT_MADE:
		return vt_facts_repeats(facts, a);
	case VT_FACT_ROLE:
		return vt_facts_roles(facts, a);
	case VT_FACT_FLAG:
		return vt_facts_flags(facts, a);
	case VT_FACT_COPY_OF:
		return vt_facts_copies(facts, a) | vt_master_weights_flat(facts, a);
	case VT_FACT_UPDATE:
		return vt_facts_updates(facts, a);
	case VT_FACT_SHAPE_CLASS:
		return vt_facts_shape_classes(facts, a);
	case VT_FACT_ALIKE:
		return vt_facts_alike(facts, a);
	case VT_FACT_SHARE:
		return vt_facts_shares(facts, a);
	case VT_FACT_GRADIENT_OF:
		return vt_facts_gradients(facts, a);
	case VT_FACT_CAST_OF:
		return vt_facts_casts(facts, a);
	case VT_FACT_LIKE:
		return vt_facts_like(facts, a);
	case VT_FACT_FREED_BY:
		return vt_facts_releasers(facts, a);
	default:
		return vt_facts_heads(facts, a);
	}
}

/* Borrowed; NULL where there is none. */
static const char *text_of(struct vt_facts *facts, const struct vt_allocation *a, enum vt_fact fact)
{
	const struct vt_module_link *links;
	uint32_t nr;

	switch (fact) {
	case VT_FACT_SCOPE:
		return vt_model_text(facts->model, a->common->made->scope);
	case VT_FACT_NODE:
		return vt_operators_class(&facts->operators, a->common->made->node_class);
	case VT_FACT_FREED_NODE:
		return vt_operators_class(&facts->operators, a->common->freed->node_class);
	case VT_FACT_FORWARD_NODE:
		return vt_operators_class(&facts->operators, vt_facts_forward_node(facts, a));
	case VT_FACT_OP:
		return vt_operators_name(&facts->operators, a->common->made->native_stack);
	default:
		links = vt_module_stacks_get(&facts->stages->module_stacks,
					     a->common->made->python_stack, &nr);
		return nr ? vt_model_text(facts->model, links[0].type) : NULL;
	}
}

static int fits_module(const struct vt_facts *facts, const struct vt_globs *globs, uint32_t stack)
{
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(&facts->stages->module_stacks, stack, &nr);

	if (!nr)
		return vt_globs_match(globs, NULL);
	for (uint32_t i = 0; i < nr; i++)
		if (vt_globs_match(globs, vt_model_text(facts->model, links[i].type)))
			return 1;
	return 0;
}

/* What a condition said of one of `nr` things; 0: nothing yet. */
static int8_t *memo_of(int8_t **memo, const struct vt_condition *condition, uint32_t nr,
		       uint32_t thing)
{
	if (!memo[condition->id])
		memo[condition->id] = vt_xcalloc((size_t)nr + 1, 1);
	return &memo[condition->id][thing];
}

static int fits_code(struct vt_conditions *conditions, const struct vt_condition *condition,
		     uint32_t frame)
{
	const struct vt_frames *frames = &conditions->facts->model->frames;
	const struct vt_code *code = vt_frames_code(frames, frame);
	int8_t *memo;

	/* The one that stands for a frame without code is in no list. */
	if (frames->python[frame].code >= frames->nr_codes)
		return vt_globs_match_python(&condition->globs, code);
	memo = memo_of(conditions->of_frames, condition, frames->nr_codes,
		       frames->python[frame].code);
	if (!*memo)
		*memo = vt_globs_match_python(&condition->globs, code) ? 1 : -1;
	return *memo > 0;
}

static int fits_symbol(struct vt_conditions *conditions, const struct vt_condition *condition,
		       uint32_t frame)
{
	const struct vt_frames *frames = &conditions->facts->model->frames;
	int8_t *memo = memo_of(conditions->of_frames, condition, frames->nr_native, frame);

	if (!*memo)
		*memo = vt_globs_match_native(&condition->globs, frames, frame) ? 1 : -1;
	return *memo > 0;
}

/* "*" fits any stack that has frames, "-" one that has none. */
static int fits_python(struct vt_conditions *conditions, const struct vt_condition *condition,
		       uint32_t stack)
{
	const struct vt_frames *frames = &conditions->facts->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, stack, ids);
	uint64_t innermost = 0;

	if (!nr)
		return vt_globs_match(&condition->globs, NULL);
	for (unsigned i = 0; i < nr; i++) {
		const struct vt_frame_python *frame = &frames->python[ids[i]];

		if (condition->fact == VT_FACT_LEAF_FRAME) {
			if (vt_describe_is_framework(vt_frames_code(frames, ids[i])->file))
				continue;
			return fits_code(conditions, condition, ids[i]);
		}
		if (condition->fact == VT_FACT_INNER_FRAME && frame->self_type) {
			if (innermost && frame->self_address != innermost)
				return 0;
			innermost = frame->self_address;
		} else if (condition->fact == VT_FACT_INNER_FRAME && innermost) {
			return 0;
		}
		if (condition->fact == VT_FACT_METHOD && !frame->self_type)
			continue;
		if (fits_code(conditions, condition, ids[i]))
			return 1;
	}
	return 0;
}

static int fits_native(struct vt_conditions *conditions, const struct vt_condition *condition,
		       uint32_t stack)
{
	const struct vt_frames *frames = &conditions->facts->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_native(frames, stack, ids);

	if (!nr)
		return vt_globs_match(&condition->globs, NULL);
	for (unsigned i = 0; i < nr; i++)
		if (fits_symbol(conditions, condition, ids[i]))
			return 1;
	return 0;
}

static uint32_t stack_of(const struct vt_allocation *a, enum vt_fact fact)
{
	switch (fact) {
	case VT_FACT_NATIVE:
		return a->common->made->native_stack;
	case VT_FACT_FREED_NATIVE:
		return a->common->freed->native_stack;
	case VT_FACT_FREED_FRAME:
		return a->common->freed->python_stack;
	case VT_FACT_FORWARD_FRAME:
		return a->common->made->forward_python_stack;
	case VT_FACT_FREED_FORWARD_FRAME:
		return a->common->freed->forward_python_stack;
	default:
		return a->common->made->python_stack;
	}
}

static int fits_text(struct vt_conditions *conditions, const struct vt_condition *condition,
		     const struct vt_allocation *a)
{
	struct vt_facts *facts = conditions->facts;
	uint32_t node;
	int8_t *memo;

	/* The one text that does not follow from the site. */
	if (condition->fact != VT_FACT_FORWARD_NODE)
		return vt_globs_match(&condition->globs, text_of(facts, a, condition->fact));
	node = vt_facts_forward_node(facts, a);
	if (node >= facts->model->strings.nr)
		node = 0;
	memo = memo_of(conditions->memo, condition, facts->model->strings.nr, node);
	if (!*memo)
		*memo = vt_globs_match(&condition->globs,
				       vt_operators_class(&facts->operators, node))
				? 1
				: -1;
	return *memo > 0;
}

static int fits_stack(struct vt_conditions *conditions, const struct vt_condition *condition,
		      const struct vt_allocation *a)
{
	const struct vt_frames *frames = &conditions->facts->model->frames;
	int is_native =
		condition->fact == VT_FACT_NATIVE || condition->fact == VT_FACT_FREED_NATIVE;
	uint32_t nr = is_native ? frames->native_tree.nr_stacks : frames->python_tree.nr_stacks;
	uint32_t stack = stack_of(a, condition->fact);
	int8_t *memo;
	int fits;

	if (stack >= nr)
		stack = 0;
	memo = memo_of(conditions->memo, condition, nr, stack);
	if (*memo)
		return *memo > 0;
	if (is_native)
		fits = fits_native(conditions, condition, stack);
	else if (condition->fact == VT_FACT_MODULE)
		fits = fits_module(conditions->facts, &condition->globs, stack);
	else
		fits = fits_python(conditions, condition, stack);
	*memo = fits ? 1 : -1;
	return fits;
}

static uint32_t string_of(const struct vt_tensor *row, enum vt_fact fact)
{
	switch (fact) {
	case VT_FACT_NAME:
		return row->name;
	case VT_FACT_HOLDER:
		return row->holder;
	case VT_FACT_SHAPE:
		return row->shape;
	default:
		return row->dtype;
	}
}

/* One storage has many names: any of them may fit. */
static int fits_names(const struct vt_facts *facts, const struct vt_condition *condition,
		      const struct vt_allocation *a)
{
	uint32_t nr;
	const uint32_t *rows =
		vt_names_rows(&facts->names, (uint32_t)(a - facts->model->allocations), &nr);

	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_tensor *row = &facts->model->tensors[rows[i]];

		if (vt_globs_match(&condition->globs,
				   vt_model_text(facts->model, string_of(row, condition->fact))))
			return 1;
	}
	return nr ? 0 : vt_globs_match(&condition->globs, NULL);
}

int vt_conditions_fit(struct vt_conditions *conditions, const struct vt_condition *condition,
		      const struct vt_allocation *a)
{
	switch (condition->compare) {
	case VT_COMPARE_TEXT:
		return fits_text(conditions, condition, a);
	case VT_COMPARE_STACK:
		return fits_stack(conditions, condition, a);
	case VT_COMPARE_NAMES:
		return fits_names(conditions->facts, condition, a);
	default:
		return a->common->size_bytes >= condition->bytes;
	}
}

static char *list_words(uint32_t bits, enum vt_fact fact)
{
	struct vt_buffer text;
	size_t count;
	const char *const *words = vt_fact_table_words(fact, &count);

	if (!bits)
		return NULL;
	vt_buffer_init(&text);
	for (size_t i = 0; i < count; i++)
		if ((bits & 1u << i) && words[i])
			vt_buffer_printf(&text, "%s%s", text.len ? " " : "", words[i]);
	return vt_buffer_detach(&text);
}

char *vt_conditions_fact(struct vt_conditions *conditions, const struct vt_allocation *a,
			 enum vt_fact fact)
{
	const struct vt_tensor *row = vt_facts_row(conditions->facts, a);
	const char *text;

	switch (vt_fact_table_compare(fact)) {
	case VT_COMPARE_WORDS:
		return list_words(vt_conditions_words(conditions->facts, a, fact), fact);
	case VT_COMPARE_TEXT:
		text = text_of(conditions->facts, a, fact);
		return text ? vt_xstrdup(text) : NULL;
	case VT_COMPARE_NAMES:
		text = row ? vt_model_text(conditions->facts->model, string_of(row, fact)) : NULL;
		return text ? vt_xstrdup(text) : NULL;
	default:
		return NULL;
	}
}
