/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_logits.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/units.h"
#include "common/journal_format.h"

/* What the fix is told to do, and the saving computed for. */
#define CHUNKS 8
/* Two may be a forward's logits and a view's copy on one line. */
#define LEAST_PIECES 3

/* Blocks of one size that one place makes in one span: pieces, if there are several. */
struct pieces {
	struct vt_map counts; /* by size, stacks and span */
};

static struct vt_key key_of(const struct vt_finding_context *context, const struct vt_allocation *a)
{
	uint32_t span = vt_stages_span_at(context->facts->stages, a->event);

	return (struct vt_key){ a->common->size_bytes,
				(uint64_t)a->common->made->python_stack << 32 |
					a->common->made->native_stack,
				(uint64_t)span << 32 | a->common->made->node_class };
}

static int is_logits(const struct vt_finding_context *context, uint32_t i)
{
	return vt_finding_context_has(context, i, VT_OWNERS_LOGITS);
}

static void count_pieces(struct pieces *pieces, const struct vt_finding_context *context)
{
	memset(pieces, 0, sizeof(*pieces));
	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		struct vt_key key;
		uint64_t *count;

		if (!is_logits(context, i))
			continue;
		key = key_of(context, &context->model->allocations[i]);
		count = vt_map_find(&pieces->counts, key);
		if (count)
			++*count;
		else
			vt_map_put(&pieces->counts, key, 1);
	}
}

static uint64_t nr_pieces(const struct pieces *pieces, const struct vt_finding_context *context,
			  uint32_t i)
{
	const uint64_t *count = vt_map_find(&pieces->counts,
					    key_of(context, &context->model->allocations[i]));

	return count ? *count : 0;
}

/* The largest of those that live at the peak; VT_NO_INDEX: there are none. */
static uint32_t largest_live(const struct vt_finding_context *context)
{
	uint32_t largest = VT_NO_INDEX;

	for (uint32_t k = 0; k < context->nr_live; k++) {
		uint32_t i = context->live[k];

		if (is_logits(context, i) &&
		    (largest == VT_NO_INDEX ||
		     context->model->allocations[i].common->size_bytes >
			     context->model->allocations[largest].common->size_bytes))
			largest = i;
	}
	return largest;
}

static int is_gradient(const struct vt_finding_context *context, uint32_t i)
{
	return vt_narrow_get(&context->facts->gradient_of, i) ||
	       vt_names_roles(&context->facts->names, i) & 1u << VT_ROLE_GRADIENT;
}

/* Whether `b` is the gradient of logits `a` in its own or in half as many bits, or the reverse. */
static int is_same_in_bits(const struct vt_allocation *a, const struct vt_allocation *b)
{
	uint64_t x = a->common->requested_bytes, y = b->common->requested_bytes;

	return x && (x == y || x == 2 * y || 2 * x == y);
}

/*
 * By allocation: logits, and the casts of their gradients, which without data flow are gradients of
 * any activation.  To be freed.
 */
static uint8_t *find_all_logits(const struct vt_finding_context *context)
{
	const struct vt_allocation *all = context->model->allocations;
	uint32_t nr = context->model->nr_allocations;
	uint8_t *found = vt_xcalloc((size_t)nr + 1, 1);

	for (uint32_t i = 0; i < nr; i++) {
		found[i] |= (uint8_t)is_logits(context, i);
		if (!found[i] || !all[i].common->made->node_class ||
		    !all[i].common->freed->node_class)
			continue;
		for (uint32_t k = i + 1; k < nr && all[k].event < all[i].freed_event; k++)
			found[k] |= all[k].common->device == context->device &&
				    vt_allocation_is_owned(&all[k]) &&
				    all[k].common->made->node_class ==
					    all[i].common->freed->node_class &&
				    is_same_in_bits(&all[i], &all[k]);
	}
	return found;
}

/* A weight that the embedding shares has one gradient: their sum, made as this one is let go. */
static int is_added_to_gradient(const struct vt_finding_context *context, uint32_t i)
{
	const struct vt_allocation *all = context->model->allocations, *a = &all[i];
	uint32_t behind = vt_search_first(k, context->model->nr_allocations,
					  all[k].event < a->freed_event);

	return a->freed_event != VT_NEVER && behind - 1 > i && is_gradient(context, behind - 1) &&
	       all[behind - 1].common->requested_bytes == a->common->requested_bytes;
}

/* The product that is the head's gradient: in 16 bits it is cast before it is one. */
static int is_head_gradient(const struct vt_finding_context *context, uint32_t i)
{
	uint64_t twice = 2 * context->model->allocations[i].common->size_bytes;

	return is_gradient(context, i) || is_added_to_gradient(context, i) ||
	       vt_shapes_of_size(&context->facts->shapes, twice) & 1u << VT_SHAPE_PARAMETER;
}

/*
 * What the head's backward node makes of the gradient of its logits.  Temporary blocks (sums over
 * the rows) get smaller with the rows.  The gradient of the whole head is made by each chunk and
 * added to that of the chunks before: one more from the first chunk on, and for a moment two, when
 * the logits of the second chunk are gone and the first sum of two is made.
 */
static void add_sum(const struct vt_finding_context *context, struct vt_savings *savings,
		    const struct vt_allocation *product, int64_t freed_event)
{
	const struct vt_allocation *all = context->model->allocations;
	uint32_t nr = context->model->nr_allocations;
	uint32_t next = vt_search_first(i, nr, all[i].event <= freed_event);
	int64_t end = next < nr ? all[next].event : VT_NEVER;

	/* When what the head's backward used is gone, and nothing further is made. */
	vt_savings_add_cost(savings, product, 2 * product->common->size_bytes, end - 1, end);
}

static void add_head_backward(struct vt_finding_context *context, struct vt_savings *savings,
			      uint32_t logits, const uint8_t *is_of_logits)
{
	const struct vt_allocation *all = context->model->allocations, *a = &all[logits];

	for (uint32_t i = logits + 1;
	     i < context->model->nr_allocations && all[i].event < a->freed_event; i++) {
		const struct vt_allocation *b = &all[i];

		if (!a->common->freed->node_class ||
		    b->common->made->node_class != a->common->freed->node_class ||
		    b->common->device != a->common->device || !vt_allocation_is_owned(b) ||
		    is_of_logits[i])
			continue;
		if (b->freed_event <= a->freed_event) {
			vt_savings_add(savings, b, b->common->size_bytes / CHUNKS * (CHUNKS - 1));
		} else if (is_head_gradient(context, i)) {
			vt_savings_add_cost(savings, a, b->common->size_bytes, a->event, VT_NEVER);
			add_sum(context, savings, b, a->freed_event);
		}
	}
}

static void shrink_all(struct vt_finding_context *context, struct vt_savings *savings,
		       uint64_t largest_bytes)
{
	uint8_t *is_of_logits = find_all_logits(context);

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];

		if (!is_of_logits[i])
			continue;
		vt_savings_add(savings, a, a->common->size_bytes / CHUNKS * (CHUNKS - 1));
		/* Not the gradient of the loss, which is a number. */
		if (a->common->made->node_class && a->common->size_bytes >= largest_bytes / CHUNKS)
			add_head_backward(context, savings, i, is_of_logits);
	}
	free(is_of_logits);
}

/* Those of an evaluation, or of a search by scores, wait for no backward pass. */
static int is_trained_with(const struct vt_finding_context *context, const struct vt_allocation *a)
{
	const struct vt_span *span = vt_facts_span(context->facts, a);

	if (!a->common->made->node_class && a->common->made->grad == VT_GRAD_DISABLED)
		return 0;
	return span && (span->stage == VT_STAGE_FORWARD || span->stage == VT_STAGE_BACKWARD);
}

static void find_whole(struct vt_finding_context *context, const struct pieces *pieces)
{
	struct vt_savings savings = { 0 };
	uint32_t largest = largest_live(context), blocks = 0;
	uint64_t bytes = 0;
	char all[VT_UNITS_MAX], one[VT_UNITS_MAX];

	if (largest == VT_NO_INDEX || nr_pieces(pieces, context, largest) != 1 ||
	    !is_trained_with(context, &context->model->allocations[largest]))
		return;
	for (uint32_t k = 0; k < context->nr_live; k++)
		if (is_logits(context, context->live[k])) {
			bytes += context->model->allocations[context->live[k]].common->size_bytes;
			blocks++;
		}
	/* Beside a loss of one number all that its backward node makes would look like logits. */
	if (vt_finding_context_is_little(context, bytes))
		return;
	shrink_all(context, &savings, context->model->allocations[largest].common->size_bytes);
	vt_units_bytes(all, sizeof(all), bytes);
	vt_units_bytes(one, sizeof(one), context->model->allocations[largest].common->size_bytes);
	vt_finding_context_add(context, VT_FINDING_LOGITS_KEPT_WHOLE, &savings, largest,
			vt_xasprintf("%s in %u block%s, the largest of %s", all, blocks,
				     blocks == 1 ? "" : "s", one));
}

/* The next piece of the same place in the same span, of blocks visited backwards. */
static uint32_t next_piece(struct vt_map *later, const struct vt_finding_context *context,
			   uint32_t i)
{
	struct vt_key key = key_of(context, &context->model->allocations[i]);
	const uint64_t *found = vt_map_find(later, key);
	uint32_t next = found ? (uint32_t)*found : VT_NO_INDEX;

	vt_map_put(later, key, i);
	return next;
}

/* With a checkpoint, a piece dies when the next begins, and is made again when that one is done. */
static void find_chunks(struct vt_finding_context *context, const struct pieces *pieces)
{
	const struct vt_allocation *all = context->model->allocations;
	struct vt_savings savings = { 0 };
	struct vt_map later = { 0 };
	uint32_t kept = 0, first = VT_NO_INDEX;
	char one[VT_UNITS_MAX];

	for (uint32_t i = context->model->nr_allocations; i-- > 0;) {
		uint32_t next;

		if (!is_logits(context, i) || nr_pieces(pieces, context, i) < LEAST_PIECES ||
		    !is_trained_with(context, &all[i]))
			continue;
		next = next_piece(&later, context, i);
		if (next == VT_NO_INDEX || all[i].freed_event < all[next].event)
			continue;
		if (vt_allocation_is_live(&all[i], context->event)) {
			first = i;
			kept++;
		}
		vt_savings_add_between(&savings, &all[i], all[i].common->size_bytes,
				       all[next].event, all[next].freed_event);
	}
	vt_map_release(&later);
	if (kept + 1 < LEAST_PIECES) {
		vt_vector_release(&savings);
		return;
	}
	vt_units_bytes(one, sizeof(one), all[first].common->size_bytes);
	vt_finding_context_add(context, VT_FINDING_LOGITS_CHUNKS_KEPT, &savings, first,
			       vt_xasprintf("%u pieces, each like this one of %s", kept, one));
}

/* Inputs of the model and rows of its matrices, each once; a run with more has no such table. */
#define SHAPES_MAX 64

/* Of inputs rows and columns, of matrices rows and the width of their elements; else 0. */
struct shape {
	uint64_t rows, columns, width;
};

struct shape_list {
	struct shape items[SHAPES_MAX];
	unsigned nr;
};

struct shapes {
	struct shape_list inputs, matrices;
};

static void note_shape(struct shape_list *list, struct shape shape)
{
	for (unsigned i = 0; i < list->nr; i++)
		if (!memcmp(&list->items[i], &shape, sizeof(shape)))
			return;
	if (list->nr < SHAPES_MAX)
		list->items[list->nr++] = shape;
}

static void find_shapes(struct shapes *shapes, const struct vt_model *model)
{
	memset(shapes, 0, sizeof(*shapes));
	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		const char *shape = vt_model_text(model, tensor->shape);
		unsigned long long rows, columns;

		if ((tensor->role != VT_ROLE_INPUT && tensor->role != VT_ROLE_PARAMETER) ||
		    !shape || sscanf(shape, "%llu,%llu", &rows, &columns) != 2 || !rows ||
		    columns <= 1 || rows >= UINT32_MAX || columns >= UINT32_MAX)
			continue;
		if (tensor->role == VT_ROLE_INPUT)
			note_shape(&shapes->inputs, (struct shape){ rows, columns, 0 });
		else
			note_shape(&shapes->matrices,
				   (struct shape){ rows, 0, tensor->size_bytes / rows / columns });
	}
}

/*
 * Whether a block was made for so many bytes.  Where it is not known what was asked for, up to 1
 * MiB of a large block may be a tail that was not worth cutting off.
 */
static int is_for_bytes(const struct vt_allocation *a, uint64_t bytes)
{
	uint64_t size = a->common->size_bytes;

	if (a->common->requested_bytes)
		return a->common->requested_bytes == bytes;
	return bytes && size >= bytes && size - bytes <= VT_SETTINGS_SMALL_MAX;
}

/* Of inputs that were seen, in elements of `width` bytes; 0: those of none. */
static uint64_t positions_in(const struct shapes *shapes, const struct vt_allocation *a,
			     uint64_t rows, uint64_t width)
{
	for (unsigned i = 0; i < shapes->inputs.nr; i++) {
		const struct shape *input = &shapes->inputs.items[i];

		if (is_for_bytes(a, input->rows * input->columns * rows * width))
			return input->columns;
	}
	return 0;
}

/*
 * How many positions of each row such a block has; 1: the last only, or it is not known.  In the
 * type of the head's matrix, else in another: by a cast, or of an input that nobody saw, in which
 * case the number is another one (*is_sure is 0).
 */
static uint64_t positions_of(const struct shapes *shapes, const struct vt_allocation *a,
			     int *is_sure)
{
	for (uint64_t cast = 0; cast <= 4; cast += 2)
		for (unsigned k = 0; k < shapes->matrices.nr; k++) {
			const struct shape *matrix = &shapes->matrices.items[k];
			uint64_t positions =
				positions_in(shapes, a, matrix->rows, cast ? cast : matrix->width);

			*is_sure = !cast;
			if (positions)
				return positions;
		}
	return 1;
}

/* Whether an operator made it that normalises scores: a likelihood needs those of each position. */
static int is_normalised(const struct vt_finding_context *context, const struct vt_allocation *a)
{
	const char *name = vt_operators_name(&context->attribution->facts->operators,
					     a->common->made->native_stack);

	return name && strstr(name, "softmax");
}

/* Whether the program asks how likely each of the tokens is, as for a perplexity. */
static int needs_all_tokens(const struct vt_finding_context *context, const struct shapes *shapes)
{
	const struct vt_allocation *all = context->model->allocations;
	int is_sure;

	for (uint32_t i = 0; i < context->model->nr_allocations; i++)
		if (is_logits(context, i) && is_normalised(context, &all[i]) &&
		    positions_of(shapes, &all[i], &is_sure) > 1)
			return 1;
	return 0;
}

static void find_all_tokens(struct vt_finding_context *context)
{
	struct vt_savings savings = { 0 };
	uint32_t largest = largest_live(context);
	const struct vt_allocation *all = context->model->allocations;
	char one[VT_UNITS_MAX];
	struct shapes shapes;
	uint64_t positions;
	int is_sure = 0;

	/* What autograd records is meant to be trained, even where that was not recorded. */
	if (largest == VT_NO_INDEX ||
	    vt_facts_grad_modes(context->facts, &all[largest]) & 1u << VT_GRAD_MODE_ON)
		return;
	find_shapes(&shapes, context->model);
	positions = positions_of(&shapes, &all[largest], &is_sure);
	if (positions > 1 && needs_all_tokens(context, &shapes))
		return;
	for (uint32_t i = 0; positions > 1 && i < context->model->nr_allocations; i++) {
		uint64_t of;
		int is_sure_of_one;

		if (!is_logits(context, i))
			continue;
		of = positions_of(&shapes, &all[i], &is_sure_of_one);
		vt_savings_add(&savings, &all[i], all[i].common->size_bytes / of * (of - 1));
	}
	if (!savings.len)
		return;
	vt_units_bytes(one, sizeof(one), all[largest].common->size_bytes);
	vt_finding_context_add(context, VT_FINDING_LOGITS_OF_ALL_TOKENS, &savings, largest,
			       is_sure ? vt_xasprintf("one block of %s for %llu positions", one,
						      (unsigned long long)positions)
				       : vt_xasprintf("one block of %s", one));
}

void vt_find_logits_detect(struct vt_finding_context *context)
{
	struct pieces pieces;

	if (!context->is_training) {
		find_all_tokens(context);
		return;
	}
	count_pieces(&pieces, context);
	find_whole(context, &pieces);
	find_chunks(context, &pieces);
	vt_map_release(&pieces.counts);
}
