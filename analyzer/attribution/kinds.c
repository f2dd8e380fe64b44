/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/kinds.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/model/producer.h"

#define NO_KIND UINT32_MAX
/* What else a module may hold: matrix products, and anything but those. */
#define LAYER	 (UINT32_MAX - 1)
#define NO_LAYER (UINT32_MAX - 2)
#define NOT_ASKED (UINT32_MAX - 3)
/* Allocations between a result and what passes it on: masks, and what an operator needs itself. */
#define SOURCE_MAX 16
/* Modules inside one another; an embedding by a convolution of a parametrized kernel has fewer. */
#define DEEP_MIN   4
#define AROUND_MAX 2 /* modules around a convolution that say what it is a part of */
/* What a module holds, beside the bits of kinds. */
#define DEEP    (1ull << 63) /* modules inside one another, that many */
#define SEVERAL (1ull << 62) /* convolutions right inside it */

enum list { MODULE, OP, NODE, WEAK_MODULE, BESIDE };

static const struct vt_globs *globs_of(const struct vt_kind_rule *kind, enum list list)
{
	switch (list) {
	case MODULE:
		return &kind->module;
	case OP:
		return &kind->op;
	case NODE:
		return &kind->node;
	case WEAK_MODULE:
		return &kind->weak_module;
	default:
		return &kind->beside;
	}
}

/* The first kind one of whose patterns fits. */
static uint32_t find_text(const struct vt_kinds *kinds, const char *text, enum list list)
{
	for (uint32_t k = 0; text && k < kinds->rules->nr_kinds; k++)
		if (vt_globs_match(globs_of(&kinds->rules->kinds[k], list), text))
			return k;
	return NO_KIND;
}

static const char *class_of(const struct vt_kinds *kinds, const struct vt_module_link *link)
{
	return vt_model_text(kinds->facts->model, link->type);
}

static int is_kind(const struct vt_kinds *kinds, uint32_t kind, const char *name)
{
	return kind != NO_KIND && !strcmp(kinds->rules->kinds[kind].name, name);
}

/* Bits of the kinds of modules in it, DEEP and SEVERAL; 0: nothing of these. */
static uint64_t find_inside(const struct vt_kinds *kinds, const struct vt_module_link *link)
{
	const uint64_t *known = vt_map_find(&kinds->inside, (struct vt_key){ link->address, 0, 0 });

	return known ? *known : 0;
}

/*
 * Holds one of the kind that it is called, and one of another: a block, called by what is special
 * about it.  An attention that computes its bias by a feed-forward, or its queries by
 * convolutions, holds no other attention.
 */
static int is_block(const struct vt_kinds *kinds, const struct vt_module_link *link, uint32_t kind)
{
	uint64_t inside = find_inside(kinds, link), own = 1ull << kind;

	return (kinds->alternating & own) && (inside & own) && (inside & ~own & ~(DEEP | SEVERAL));
}

static int is_product(const struct vt_kinds *kinds, const struct vt_module_link *link)
{
	return vt_globs_match(&kinds->rules->product.module, class_of(kinds, link));
}

/*
 * Whether the i-th module is not of the kind that it is called.  What multiplies matrices is no
 * norm, though the class around it may be called one: a linear layer and its norm, made to be
 * fused.  What holds layers of layers is no embedding, but a model that makes one or needs none.
 */
static int is_misnamed(const struct vt_kinds *kinds, const struct vt_module_link *links, uint32_t i,
		       uint32_t kind)
{
	return is_block(kinds, &links[i], kind) ||
	       (is_kind(kinds, kind, "embedding") && (find_inside(kinds, &links[i]) & DEEP)) ||
	       (i && is_kind(kinds, kind, "norm") && is_product(kinds, &links[0]));
}

/*
 * What a convolution is a part of, by what the modules right around it are called: of patches that
 * it alone makes tokens of, of an attention whose keys it makes fewer, of a feed-forward.
 */
static uint32_t find_around(const struct vt_kinds *kinds, const struct vt_module_link *links,
			    uint32_t nr, uint32_t convolution)
{
	for (uint32_t i = 1; i < nr && i <= AROUND_MAX; i++) {
		uint32_t kind = find_text(kinds, class_of(kinds, &links[i]), MODULE);
		uint64_t inside = find_inside(kinds, &links[i]);

		if (kind == NO_KIND || (inside & DEEP) || is_misnamed(kinds, links, i, kind))
			continue;
		if ((kinds->alternating & 1ull << kind) ||
		    (is_kind(kinds, kind, "embedding") && !(inside & SEVERAL)))
			return kind;
	}
	return convolution;
}

/* Modules from the innermost outwards. */
static uint32_t find_module(const struct vt_kinds *kinds, uint32_t python_stack, enum list list)
{
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(&kinds->facts->stages->module_stacks, python_stack, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t kind = find_text(kinds, class_of(kinds, &links[i]), list);

		if (kind != NO_KIND && (list != MODULE || !is_misnamed(kinds, links, i, kind)))
			return !i && list == MODULE && is_kind(kinds, kind, "conv")
				       ? find_around(kinds, links, nr, kind)
				       : kind;
	}
	return NO_KIND;
}

static uint32_t kind_of_modules(const struct vt_kinds *kinds, uint32_t python_stack)
{
	uint32_t *known;

	if (python_stack >= kinds->facts->stages->module_stacks.nr_stacks)
		return NO_KIND;
	known = &kinds->of_modules[python_stack];
	if (*known == NOT_ASKED)
		*known = find_module(kinds, python_stack, MODULE);
	return *known;
}

static int compare_holders(const void *a, const void *b)
{
	const struct vt_kind_holder *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* What a class is called, found once; in a map from its string id. */
static uint32_t kind_of_class(const struct vt_kinds *kinds, struct vt_map *classes,
			      const struct vt_module_link *link)
{
	const struct vt_key key = { link->type, 0, 0 };
	const uint64_t *known = vt_map_find(classes, key);
	uint32_t kind;

	if (known)
		return (uint32_t)*known;
	kind = find_text(kinds, class_of(kinds, link), MODULE);
	vt_map_put(classes, key, kind);
	return kind;
}

static void add_inside(struct vt_kinds *kinds, const struct vt_module_link *link, uint64_t what)
{
	uint64_t known = find_inside(kinds, link);

	if ((known | what) != known)
		vt_map_put(&kinds->inside, (struct vt_key){ link->address, 0, 0 }, known | what);
}

/* `first`: by module the first convolution that was seen right inside it. */
static void note_convolution(struct vt_kinds *kinds, struct vt_map *first,
			     const struct vt_module_link *links, uint32_t nr)
{
	for (uint32_t i = 1; i < nr && i <= AROUND_MAX; i++) {
		const struct vt_key key = { links[i].address, 0, 0 };
		const uint64_t *known = vt_map_find(first, key);

		if (!known)
			vt_map_put(first, key, links[0].address);
		else if (*known != links[0].address)
			add_inside(kinds, &links[i], SEVERAL);
	}
}

static void find_insides(struct vt_kinds *kinds)
{
	const struct vt_module_stacks *module_stacks = &kinds->facts->stages->module_stacks;
	struct vt_map classes = { 0 }, first = { 0 };
	uint64_t convolutions = 0;

	for (uint32_t k = 0; k < kinds->rules->nr_kinds; k++)
		if (is_kind(kinds, k, "attention") || is_kind(kinds, k, "mlp") ||
		    is_kind(kinds, k, "mixer"))
			kinds->alternating |= 1u << k;
		else if (is_kind(kinds, k, "conv"))
			convolutions = 1u << k;
	for (uint32_t stack = 0; stack < module_stacks->nr_stacks; stack++) {
		uint32_t nr;
		const struct vt_module_link *links =
			vt_module_stacks_get(module_stacks, stack, &nr);
		uint64_t inner = 0;

		for (uint32_t i = 0; i < nr; i++) {
			uint32_t kind = kind_of_class(kinds, &classes, &links[i]);

			inner |= i >= DEEP_MIN ? DEEP : 0;
			if (inner)
				add_inside(kinds, &links[i], inner);
			if (kind == NO_KIND)
				continue;
			if (!i && (convolutions & 1ull << kind))
				note_convolution(kinds, &first, links, nr);
			inner |= (kinds->alternating | convolutions) & 1u << kind;
			/* Its convolutions are a part of what it is. */
			if (kinds->alternating & 1u << kind)
				inner &= ~convolutions;
		}
	}
	vt_map_release(&classes);
	vt_map_release(&first);
}

/*
 * Containers that call their parts in order, and compute nothing, with two or more matrix products
 * among them: layer, activation, layer.
 */
static void find_sequences(struct vt_kinds *kinds)
{
	const struct vt_module_stacks *stacks = &kinds->facts->stages->module_stacks;
	struct vt_map layers = { 0 }; /* container and layer */

	for (uint32_t stack = 0; stack < stacks->nr_stacks; stack++) {
		uint32_t nr;
		const struct vt_module_link *links = vt_module_stacks_get(stacks, stack, &nr);
		struct vt_key layer = { nr >= 2 ? links[1].address : 0, nr ? links[0].address : 0,
					0 };
		struct vt_key container = { layer.a, 0, 0 };
		const uint64_t *known;

		if (nr < 2 || strcmp(class_of(kinds, &links[1]), "Sequential") != 0 ||
		    !is_product(kinds, &links[0]) || vt_map_find(&layers, layer))
			continue;
		vt_map_put(&layers, layer, 1);
		known = vt_map_find(&kinds->sequences, container);
		vt_map_put(&kinds->sequences, container, known ? *known + 1 : 1);
	}
	vt_map_release(&layers);
}

void vt_kinds_init(struct vt_kinds *kinds, struct vt_facts *facts)
{
	VT_VECTOR(struct vt_kind_holder) holders = { 0 };

	memset(kinds, 0, sizeof(*kinds));
	kinds->facts = facts;
	kinds->rules = facts->rules;
	kinds->layer_kind = NO_KIND;
	kinds->of_modules = vt_xcalloc((size_t)facts->stages->module_stacks.nr_stacks + 1,
				       sizeof(*kinds->of_modules));
	for (uint32_t stack = 0; stack < facts->stages->module_stacks.nr_stacks; stack++) {
		uint32_t nr;
		const struct vt_module_link *links =
			vt_module_stacks_get(&facts->stages->module_stacks, stack, &nr);
		struct vt_kind_holder one = { 0, NO_KIND };

		kinds->of_modules[stack] = NOT_ASKED;
		if (nr < 2)
			continue;
		one.address = links[1].address;
		one.kind = find_text(kinds, class_of(kinds, &links[0]), MODULE);
		if (one.kind != NO_KIND)
			vt_vector_push(&holders, one);
		one.kind = NO_LAYER;
		if (is_product(kinds, &links[0])) {
			one.kind = LAYER;
			kinds->layer_kind = find_text(kinds, class_of(kinds, &links[0]),
						      WEAK_MODULE);
		}
		vt_vector_push(&holders, one);
	}
	vt_vector_sort(&holders, compare_holders);
	kinds->holders = holders.items;
	kinds->nr_holders = (uint32_t)holders.len;
	find_insides(kinds);
	find_sequences(kinds);
}

void vt_kinds_release(struct vt_kinds *kinds)
{
	free(kinds->holders);
	free(kinds->of_modules);
	vt_map_release(&kinds->inside);
	vt_map_release(&kinds->sequences);
	vt_map_release(&kinds->own);
	vt_map_release(&kinds->passing);
	memset(kinds, 0, sizeof(*kinds));
}

static int holds(const struct vt_kinds *kinds, uint64_t address, uint32_t kind)
{
	const struct vt_kind_holder wanted = { address, kind };

	return kinds->nr_holders && bsearch(&wanted, kinds->holders, kinds->nr_holders,
					    sizeof(wanted), compare_holders) != NULL;
}

/* ReLU beside a convolution is part of the convolution's business: module or operator. */
static uint32_t find_beside(struct vt_kinds *kinds, const struct vt_allocation *a)
{
	const char *op = vt_operators_name(&kinds->facts->operators, a->common->made->native_stack);
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(&kinds->facts->stages->module_stacks,
				     vt_producer_stack(kinds->facts->model, a), &nr);

	for (uint32_t k = 0; k < kinds->rules->nr_kinds; k++) {
		const struct vt_globs *beside = &kinds->rules->kinds[k].beside;

		if (nr >= 2 && vt_globs_match(beside, class_of(kinds, &links[0])) &&
		    holds(kinds, links[1].address, k))
			return k;
		if (nr >= 1 && op && vt_globs_match(beside, op) &&
		    holds(kinds, links[0].address, k))
			return k;
	}
	return NO_KIND;
}

/* Holds layers and nothing else: a layer of a program's own, of several matrices. */
static int is_layer(const struct vt_kinds *kinds, uint64_t address)
{
	return holds(kinds, address, LAYER) && !holds(kinds, address, NO_LAYER);
}

/* A norm keeps its input, whoever made that. */
static uint32_t find_keeper(struct vt_kinds *kinds, const struct vt_allocation *a)
{
	const char *node =
		vt_operators_class(&kinds->facts->operators, a->common->freed->node_class);
	uint32_t kind = find_text(kinds, node, NODE);

	return is_kind(kinds, kind, "norm") ? NO_KIND : kind;
}

/* A layer's sum, of what it was and what it learnt, is not what a sum is between layers. */
static uint32_t find_operator(struct vt_kinds *kinds, const struct vt_allocation *a,
			      uint32_t stack)
{
	const char *op = vt_operators_name(&kinds->facts->operators, a->common->made->native_stack);
	uint32_t kind = find_text(kinds, op, OP);
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(&kinds->facts->stages->module_stacks, stack, &nr);

	if (!nr || !is_kind(kinds, kind, "residual"))
		return kind;
	if (find_text(kinds, class_of(kinds, &links[0]), WEAK_MODULE) != NO_KIND)
		return NO_KIND;
	return is_layer(kinds, links[0].address) ? kinds->layer_kind : kind;
}

static uint32_t find_own(struct vt_kinds *kinds, const struct vt_allocation *a, uint32_t stack,
			 uint32_t forward_node)
{
	struct vt_operators *operators = &kinds->facts->operators;
	uint32_t kind = kind_of_modules(kinds, stack);

	if (kind == NO_KIND)
		kind = find_beside(kinds, a);
	if (kind == NO_KIND)
		kind = find_operator(kinds, a, stack);
	if (kind == NO_KIND)
		kind = find_text(kinds, vt_operators_class(operators, a->common->made->node_class),
				 NODE);
	if (kind == NO_KIND)
		kind = find_text(kinds, vt_operators_class(operators, forward_node), NODE);
	if (kind == NO_KIND)
		kind = find_keeper(kinds, a);
	if (kind == NO_KIND)
		kind = find_module(kinds, stack, WEAK_MODULE);
	return kind;
}

static const char *name_own(struct vt_kinds *kinds, const struct vt_allocation *a)
{
	uint32_t forward_node = vt_facts_forward_node(kinds->facts, a);
	uint32_t stack = vt_producer_stack(kinds->facts->model, a), kind;
	struct vt_key key = { (uint64_t)a->common->made->native_stack << 32 | stack,
			      (uint64_t)a->common->made->node_class << 32 | forward_node,
			      a->common->freed->node_class };
	const uint64_t *known = vt_map_find(&kinds->own, key);

	kind = known ? (uint32_t)*known : find_own(kinds, a, stack, forward_node);
	if (!known)
		vt_map_put(&kinds->own, key, kind);
	return kind == NO_KIND ? "other" : kinds->rules->kinds[kind].name;
}

static int find_passing(const struct vt_kinds *kinds, uint32_t native_stack, uint32_t stack)
{
	const char *op = vt_operators_name(&kinds->facts->operators, native_stack);
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(&kinds->facts->stages->module_stacks, stack, &nr);

	return (op && vt_globs_match(&kinds->rules->passing.op, op)) ||
	       (nr && vt_globs_match(&kinds->rules->passing.module, class_of(kinds, &links[0])));
}

static int is_passing(struct vt_kinds *kinds, const struct vt_allocation *a)
{
	struct vt_key key = { a->common->made->native_stack,
			      vt_producer_stack(kinds->facts->model, a), 0 };
	const uint64_t *known = vt_map_find(&kinds->passing, key);
	int is;

	if (known)
		return (int)*known;
	is = find_passing(kinds, a->common->made->native_stack, (uint32_t)key.b);
	vt_map_put(&kinds->passing, key, (uint64_t)is);
	return is;
}

/* What the thread made last before something that passes it on; or that itself. */
static const struct vt_allocation *find_source(struct vt_kinds *kinds,
					       const struct vt_allocation *a)
{
	const struct vt_allocation *first = kinds->facts->model->allocations;

	if (a->common->made->node_class || !is_passing(kinds, a) ||
	    kind_of_modules(kinds, a->common->made->python_stack) != NO_KIND)
		return a;
	for (const struct vt_allocation *b = a; b-- > first && a - b <= SOURCE_MAX;) {
		if (!vt_allocation_is_owned(b) ||
		    b->common->made->thread != a->common->made->thread)
			continue;
		if (b->common->made->node_class || !b->common->made->python_stack)
			break;
		if (!is_passing(kinds, b))
			return b;
	}
	return a;
}

/*
 * A convolution may be a part of something larger: of an attention's queries, of what a scan
 * reads, of what makes tokens of patches.
 */
static int is_part_of(const struct vt_kinds *kinds, uint32_t kind, enum vt_flow_label label)
{
	return is_kind(kinds, kind, "conv") &&
	       (label == VT_FLOW_ATTENTION || label == VT_FLOW_MIXER || label == VT_FLOW_EMBEDDING);
}

/* A sum with what a part was computed from is none of the part, though its class may make it. */
static int is_sum_of(const struct vt_kinds *kinds, uint32_t kind, enum vt_flow_label label)
{
	return label == VT_FLOW_RESIDUAL && (kinds->alternating & 1ull << kind);
}

/*
 * A feed-forward that is a plain sequence of layers, in a class named after something else: a block
 * named after its attention, a mixer of tokens.  A bias that an attention computes so from
 * positions stays attention, as the graph does not call it a feed-forward.
 */
static int is_sequence_in(const struct vt_kinds *kinds, uint32_t stack, uint32_t kind,
			  enum vt_flow_label label)
{
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(&kinds->facts->stages->module_stacks, stack, &nr);

	if (label != VT_FLOW_MLP || !(kinds->alternating & 1ull << kind))
		return 0;
	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_key key = { links[i].address, 0, 0 };
		const uint64_t *layers = vt_map_find(&kinds->sequences, key);

		if (find_text(kinds, class_of(kinds, &links[i]), MODULE) != NO_KIND)
			return 0;
		if (layers && *layers >= 2)
			return 1;
	}
	return 0;
}

/* What operators read and wrote says, where no module does; NULL: nothing. */
static const char *name_by_flow(struct vt_kinds *kinds, const struct vt_allocation *a)
{
	enum vt_flow_label label = vt_flow_kinds_find(&kinds->facts->flow, a);
	uint32_t stack = vt_producer_stack(kinds->facts->model, a), kind;

	if (label == VT_FLOW_NONE || label == VT_FLOW_LOGITS || label == VT_FLOW_WEIGHT ||
	    label == VT_FLOW_STREAMED)
		return NULL;
	kind = kind_of_modules(kinds, stack);
	if (kind != NO_KIND && !is_part_of(kinds, kind, label) && !is_sum_of(kinds, kind, label) &&
	    !is_sequence_in(kinds, stack, kind, label))
		return NULL;
	return vt_flow_label_text(label);
}

const char *vt_kinds_find(struct vt_kinds *kinds, const struct vt_allocation *a, int *is_by_flow)
{
	const char *by_flow = name_by_flow(kinds, a);

	if (is_by_flow)
		*is_by_flow = by_flow != NULL;
	return by_flow ? by_flow : name_own(kinds, find_source(kinds, a));
}
