/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/match.h"

#include <string.h>

#include "analyzer/model/describe.h"

/* The words of one allocation, each fact's found once: many rules ask for the same. */
struct words {
	uint64_t known; /* bit per fact */
	uint32_t of[VT_NR_FACTS];
};

_Static_assert(VT_NR_FACTS <= 64, "struct words");

/* Whether what a condition says is the same for all allocations of a site. */
static int is_of_site(const struct vt_condition *condition)
{
	return condition->compare == VT_COMPARE_STACK || condition->fact == VT_FACT_KIND ||
	       (condition->compare == VT_COMPARE_TEXT && condition->fact != VT_FACT_FORWARD_NODE);
}

static void find_asked(struct vt_match *match)
{
	const struct vt_rules *rules = match->rules;
	uint32_t nr = 0;

	match->first_asked = vt_xcalloc((size_t)rules->nr_rules + 1, sizeof(*match->first_asked));
	match->asked = vt_xcalloc((size_t)rules->nr_conditions + 1, sizeof(*match->asked));
	for (uint32_t r = 0; r < rules->nr_rules; r++) {
		match->first_asked[r] = nr;
		for (unsigned i = 0; i < rules->rules[r].nr_conditions; i++)
			if (!is_of_site(&rules->rules[r].conditions[i]))
				match->asked[nr++] = &rules->rules[r].conditions[i];
	}
	match->first_asked[rules->nr_rules] = nr;
}

void vt_match_init(struct vt_match *match, struct vt_facts *facts)
{
	match->facts = facts;
	match->rules = facts->rules;
	match->memo = vt_xcalloc(facts->rules->nr_conditions + 1, sizeof(*match->memo));
	match->of_frames = vt_xcalloc(facts->rules->nr_conditions + 1, sizeof(*match->of_frames));
	find_asked(match);
}

void vt_match_release(struct vt_match *match)
{
	for (uint32_t i = 0; match->rules && i < match->rules->nr_conditions; i++) {
		free(match->memo[i]);
		free(match->of_frames[i]);
	}
	free(match->memo);
	free(match->of_frames);
	free(match->first_asked);
	free(match->asked);
	vt_map_release(&match->sites);
	vt_map_release(&match->workspaces);
	vt_vector_release(&match->left);
	memset(match, 0, sizeof(*match));
}

static uint32_t stage_bit(const struct vt_facts *facts, int64_t event)
{
	uint32_t span = vt_stages_span_at(facts->stages, event);

	return span == VT_NO_INDEX ? 0 : 1u << facts->stages->spans[span].stage;
}

/* The words that hold, a bit each. */
static uint32_t words_of(const struct vt_facts *facts, const struct vt_allocation *a,
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
		return vt_recorded_passes_of(&facts->recorded, facts->stages, a);
	case VT_FACT_PROGRAM:
		return vt_facts_programs(facts);
	case VT_FACT_MADE:
		return vt_facts_repeats(facts, a);
	case VT_FACT_ROLE:
		return vt_facts_roles(facts, a);
	case VT_FACT_FLAG:
		return vt_facts_flags(facts, a);
	case VT_FACT_COPY_OF:
		return vt_facts_copies(facts, a);
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
		links = vt_module_stacks_get(&facts->stages->chains, a->common->made->python_stack,
					     &nr);
		return nr ? vt_model_text(facts->model, links[0].type) : NULL;
	}
}

static int fits_module(const struct vt_facts *facts, const struct vt_globs *globs, uint32_t stack)
{
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(&facts->stages->chains, stack, &nr);

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

static int fits_code(struct vt_match *match, const struct vt_condition *condition, uint32_t frame)
{
	const struct vt_frames *frames = &match->facts->model->frames;
	const struct vt_code *code = vt_frames_code(frames, frame);
	int8_t *memo;

	/* The one that stands for a frame without code is in no list. */
	if (frames->python[frame].code >= frames->nr_codes)
		return vt_globs_match_python(&condition->globs, code);
	memo = memo_of(match->of_frames, condition, frames->nr_codes, frames->python[frame].code);
	if (!*memo)
		*memo = vt_globs_match_python(&condition->globs, code) ? 1 : -1;
	return *memo > 0;
}

static int fits_symbol(struct vt_match *match, const struct vt_condition *condition,
		       uint32_t frame)
{
	const struct vt_frames *frames = &match->facts->model->frames;
	int8_t *memo = memo_of(match->of_frames, condition, frames->nr_native, frame);

	if (!*memo)
		*memo = vt_globs_match_native(&condition->globs, frames, frame) ? 1 : -1;
	return *memo > 0;
}

/* "*" fits any stack that has frames, "-" one that has none. */
static int fits_python(struct vt_match *match, const struct vt_condition *condition, uint32_t stack)
{
	const struct vt_frames *frames = &match->facts->model->frames;
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
			return fits_code(match, condition, ids[i]);
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
		if (fits_code(match, condition, ids[i]))
			return 1;
	}
	return 0;
}

static int fits_native(struct vt_match *match, const struct vt_condition *condition, uint32_t stack)
{
	const struct vt_frames *frames = &match->facts->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_native(frames, stack, ids);

	if (!nr)
		return vt_globs_match(&condition->globs, NULL);
	for (unsigned i = 0; i < nr; i++)
		if (fits_symbol(match, condition, ids[i]))
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

static int fits_text(struct vt_match *match, const struct vt_condition *condition,
		     const struct vt_allocation *a)
{
	struct vt_facts *facts = match->facts;
	uint32_t node;
	int8_t *memo;

	/* The one text that does not follow from the site. */
	if (condition->fact != VT_FACT_FORWARD_NODE)
		return vt_globs_match(&condition->globs, text_of(facts, a, condition->fact));
	node = vt_facts_forward_node(facts, a);
	if (node >= facts->model->strings.nr)
		node = 0;
	memo = memo_of(match->memo, condition, facts->model->strings.nr, node);
	if (!*memo)
		*memo = vt_globs_match(&condition->globs,
				       vt_operators_class(&facts->operators, node)) ? 1 : -1;
	return *memo > 0;
}

static int fits_stack(struct vt_match *match, const struct vt_condition *condition,
		      const struct vt_allocation *a)
{
	const struct vt_frames *frames = &match->facts->model->frames;
	int is_native = condition->fact == VT_FACT_NATIVE ||
			condition->fact == VT_FACT_FREED_NATIVE;
	uint32_t nr = is_native ? frames->native_tree.nr_stacks : frames->python_tree.nr_stacks;
	uint32_t stack = stack_of(a, condition->fact);
	int8_t *memo;
	int fits;

	if (stack >= nr)
		stack = 0;
	memo = memo_of(match->memo, condition, nr, stack);
	if (*memo)
		return *memo > 0;
	if (is_native)
		fits = fits_native(match, condition, stack);
	else if (condition->fact == VT_FACT_MODULE)
		fits = fits_module(match->facts, &condition->globs, stack);
	else
		fits = fits_python(match, condition, stack);
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
	const uint32_t *rows = vt_names_rows(
		&facts->names, (uint32_t)(a - facts->model->allocations), &nr);

	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_tensor *row = &facts->model->tensors[rows[i]];

		if (vt_globs_match(&condition->globs,
				   vt_model_text(facts->model, string_of(row, condition->fact))))
			return 1;
	}
	return nr ? 0 : vt_globs_match(&condition->globs, NULL);
}

static uint32_t known_words(struct vt_match *match, const struct vt_allocation *a,
			    enum vt_fact fact, struct words *words)
{
	if (!(words->known & 1ull << fact)) {
		words->of[fact] = words_of(match->facts, a, fact);
		words->known |= 1ull << fact;
	}
	return words->of[fact];
}

static int fits(struct vt_match *match, const struct vt_condition *condition,
		const struct vt_allocation *a, struct words *words)
{
	switch (condition->compare) {
	case VT_COMPARE_WORDS:
		return (known_words(match, a, condition->fact, words) & condition->words) != 0;
	case VT_COMPARE_TEXT:
		return fits_text(match, condition, a);
	case VT_COMPARE_STACK:
		return fits_stack(match, condition, a);
	case VT_COMPARE_NAMES:
		return fits_names(match->facts, condition, a);
	default:
		return a->common->size_bytes >= condition->bytes;
	}
}

static int holds_at_site(struct vt_match *match, const struct vt_rule *rule,
			 const struct vt_allocation *a, struct words *words)
{
	for (unsigned i = 0; i < rule->nr_conditions; i++) {
		const struct vt_condition *condition = &rule->conditions[i];

		if (is_of_site(condition) &&
		    fits(match, condition, a, words) == condition->is_negated)
			return 0;
	}
	return 1;
}

/* Whether the other conditions hold. */
static int holds(struct vt_match *match, uint32_t rule, const struct vt_allocation *a,
		 struct words *words)
{
	for (uint32_t i = match->first_asked[rule]; i < match->first_asked[rule + 1]; i++)
		if (fits(match, match->asked[i], a, words) == match->asked[i]->is_negated)
			return 0;
	return 1;
}

/* All that conditions on the site ask for.  Of equal callers there is one, or a few. */
static struct vt_key site_of(const struct vt_allocation *a)
{
	struct vt_key key = { (uintptr_t)a->common->made, (uintptr_t)a->common->freed,
			      a->common->kind };

	return key;
}

/* The rules whose conditions on the site hold: few are left of all. */
static const uint32_t *rules_left(struct vt_match *match, const struct vt_allocation *a)
{
	struct vt_key site = site_of(a);
	const uint64_t *known = vt_map_find(&match->sites, site);
	struct words words = { 0 };
	size_t first = match->left.len;

	if (known)
		return &match->left.items[*known];
	for (uint32_t i = 0; i < match->rules->nr_rules; i++)
		if (holds_at_site(match, &match->rules->rules[i], a, &words))
			vt_vector_push(&match->left, i);
	vt_vector_push(&match->left, VT_NO_INDEX);
	vt_map_put(&match->sites, site, first);
	return &match->left.items[first];
}

const struct vt_rule *vt_match_rule(struct vt_match *match, const struct vt_allocation *a,
				    const struct vt_rule *after)
{
	const struct vt_rule *all = match->rules->rules;
	struct words words;

	words.known = 0;
	for (const uint32_t *left = rules_left(match, a); *left != VT_NO_INDEX; left++)
		if ((!after || &all[*left] > after) && holds(match, *left, a, &words))
			return &all[*left];
	return NULL;
}

static int asks_for_stacks_only(const struct vt_rule *rule)
{
	for (unsigned i = 0; i < rule->nr_conditions; i++)
		if (rule->conditions[i].compare != VT_COMPARE_STACK)
			return 0;
	return 1;
}

static int find_workspace_rule(struct vt_match *match, const struct vt_allocation *a)
{
	static const char workspace[] = "workspace/";
	struct words words = { 0 };

	for (uint32_t i = 0; i < match->rules->nr_rules; i++) {
		const struct vt_rule *rule = &match->rules->rules[i];

		if (strncmp(rule->owner, workspace, strlen(workspace)) == 0 &&
		    asks_for_stacks_only(rule) && holds_at_site(match, rule, a, &words))
			return 1;
	}
	return 0;
}

int vt_match_is_workspace(struct vt_match *match, const struct vt_allocation *a)
{
	struct vt_key site = site_of(a);
	const uint64_t *known = vt_map_find(&match->workspaces, site);
	int is_workspace = known ? (int)*known : find_workspace_rule(match, a);

	if (!known)
		vt_map_put(&match->workspaces, site, (uint64_t)is_workspace);
	return is_workspace;
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

char *vt_match_fact(struct vt_match *match, const struct vt_allocation *a, enum vt_fact fact)
{
	const struct vt_tensor *row = vt_facts_row(match->facts, a);
	const char *text;

	switch (vt_fact_table_compare(fact)) {
	case VT_COMPARE_WORDS:
		return list_words(words_of(match->facts, a, fact), fact);
	case VT_COMPARE_TEXT:
		text = text_of(match->facts, a, fact);
		return text ? vt_xstrdup(text) : NULL;
	case VT_COMPARE_NAMES:
		text = row ? vt_model_text(match->facts->model, string_of(row, fact)) : NULL;
		return text ? vt_xstrdup(text) : NULL;
	default:
		return NULL;
	}
}
