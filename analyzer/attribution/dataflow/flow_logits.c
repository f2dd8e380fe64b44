/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/dataflow/flow_passes.h"

#include "analyzer/base/sort.h"

/* Operators between a head and its loss, and those behind it in a forward. */
#define BEFORE_MAX 48
#define BEHIND_MAX 512
/* Values that what multiplies is computed of. */
#define LEAVES_MAX 16

struct search {
	struct vt_flow_nodes found; /* of the walk behind one product */
	struct vt_flow_nodes between; /* a choice and where what was chosen is looked up */
	struct vt_map carried;      /* lines of products */
};

/* A part of a network of its own. */
static int is_layer(const struct vt_flow_node *node)
{
	switch (node->class) {
	case VT_OPERATOR_PRODUCT:
	case VT_OPERATOR_CONVOLUTION:
	case VT_OPERATOR_NORM:
	case VT_OPERATOR_ATTENTION:
	case VT_OPERATOR_RECURRENT:
		return 1;
	default:
		return node->label == VT_FLOW_NORM;
	}
}

/* Whether it reads a node's result as values, and not as places in something else. */
static int reads_values(const struct vt_dataflow *flow, const struct vt_flow_node *reader,
			const struct vt_flow_node *node)
{
	if (reader->class == VT_OPERATOR_EMBEDDING)
		return 0;
	return reader->class != VT_OPERATOR_INDEX || vt_dataflow_writer(flow, reader, 0) == node;
}

static int shares_input(const struct vt_dataflow *flow, const struct vt_flow_node *a,
			const struct vt_flow_node *b)
{
	for (uint32_t i = 0; i < a->nr_inputs; i++)
		for (uint32_t k = 0; k < b->nr_inputs; k++)
			if (flow->inputs[a->first_input + i] == flow->inputs[b->first_input + k])
				return 1;
	return 0;
}

static int compare_nodes(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Whether a normaliser is of what another one made, among the nodes that were just walked. */
static int has_sums_of_sums(struct vt_dataflow *flow, struct vt_flow_nodes *found)
{
	vt_vector_sort(found, compare_nodes);
	for (size_t i = 0; i < found->len; i++) {
		struct vt_flow_node *node = &flow->nodes[found->items[i]];

		for (uint32_t k = 0; k < node->nr_inputs; k++) {
			const struct vt_flow_node *writer = vt_dataflow_writer(flow, node, k);

			if (writer && (writer->is_of_normaliser ||
				       writer->class == VT_OPERATOR_NORMALISER ||
				       writer->class == VT_OPERATOR_LOSS))
				node->is_of_normaliser = 1;
		}
		if (node->is_of_normaliser && node->class == VT_OPERATOR_NORMALISER)
			return 1;
	}
	return 0;
}

/* What is computed of a product up to the next layers; returns whether there are none. */
static int find_behind(struct vt_dataflow *flow, const struct vt_flow_node *product,
		       struct vt_flow_nodes *found)
{
	int is_last = 1;

	found->len = 0;
	vt_dataflow_walk(flow);
	vt_dataflow_see(flow, product);
	vt_vector_push(found, vt_dataflow_index(flow, product));
	for (size_t i = 0; i < found->len && found->len < BEHIND_MAX; i++) {
		const struct vt_flow_node *node = &flow->nodes[found->items[i]];
		const struct vt_flow_node *reader;

		/* Of what was chosen nothing is a score. */
		if (node->class == VT_OPERATOR_CHOICE && node->nr_outputs < 2)
			continue;
		for (uint32_t k = 0; (reader = vt_dataflow_reader(flow, node, k)); k++) {
			if (!reads_values(flow, reader, node) || reader->in_backward)
				continue;
			/*
			 * A loss that makes its gradients itself: by what the head multiplied, as
			 * the next iteration of a loop over time does.
			 */
			if (vt_flow_is_product(reader) && !reader->is_recurrent &&
			    shares_input(flow, reader, product))
				continue;
			if (is_layer(reader))
				is_last = 0;
			else if (vt_dataflow_see(flow, reader))
				vt_vector_push(found, vt_dataflow_index(flow, reader));
		}
	}
	return is_last;
}

/* Products of loops over time that the next iteration's layers read: the last one is no head. */
static void find_carried(struct vt_dataflow *flow, struct search *search)
{
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		const struct vt_flow_node *node = &flow->nodes[n];

		if (node->is_recurrent && vt_flow_is_product(node) &&
		    !vt_map_find(&search->carried, vt_flow_line(flow, node)) &&
		    !find_behind(flow, node, &search->found))
			vt_map_put(&search->carried, vt_flow_line(flow, node), 1);
	}
}

/* Sums of sums, over all ways through a sequence, are of no head either. */
static int is_head(struct vt_dataflow *flow, struct vt_flow_node *product, struct search *search)
{
	if (product->is_recurrent && vt_map_find(&search->carried, vt_flow_line(flow, product)))
		return 0;
	return find_behind(flow, product, &search->found) &&
	       !has_sums_of_sums(flow, &search->found);
}

static int is_by_element(const struct vt_flow_node *node)
{
	switch (node->class) {
	case VT_OPERATOR_NORM:
	case VT_OPERATOR_ATTENTION:
	case VT_OPERATOR_EMBEDDING:
	case VT_OPERATOR_RECURRENT:
	case VT_OPERATOR_POOL:
		return 0;
	default:
		return node->label != VT_FLOW_NORM;
	}
}

/* It orders scores and chooses none of them, unlike argmax() and multinomial(). */
static int is_ranking(const struct vt_flow_node *node)
{
	return node->class == VT_OPERATOR_CHOICE && node->nr_outputs >= 2;
}

/* Whether a layer is among what a product's inputs were computed of; a table is none. */
static int is_of_network(struct vt_dataflow *flow, const struct vt_flow_node *product)
{
	const struct vt_flow_node *nodes[BEFORE_MAX] = { product };
	unsigned nr = 1;

	vt_dataflow_walk(flow);
	for (unsigned i = 0; i < nr; i++)
		for (uint32_t k = 0; k < nodes[i]->nr_inputs; k++) {
			const struct vt_flow_node *writer = vt_dataflow_writer(flow, nodes[i], k);

			if (!writer || !vt_dataflow_see(flow, writer))
				continue;
			if (is_layer(writer))
				return 1;
			if (nr < BEFORE_MAX)
				nodes[nr++] = writer;
		}
	return 0;
}

/*
 * A head multiplies by a weight.  A loss over classes may also read the products of two encoders'
 * outputs; a choice of such is one of attention's or of a router's.
 */
static int makes_scores(const struct vt_dataflow *flow, const struct vt_flow_node *node,
			const struct vt_flow_node *end)
{
	return vt_dataflow_is_by_weight(flow, node) ||
	       (end->class != VT_OPERATOR_CHOICE && vt_dataflow_is_of_data(flow, node));
}

static int is_below(const struct vt_dataflow *flow, const struct vt_flow_node *node,
		    const struct vt_frame_python *method)
{
	const struct vt_frame_python *frames = flow->model->frames.python;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_dataflow_frames(flow, node, ids);

	for (unsigned i = 0; i < nr; i++)
		if (frames[ids[i]].self_address == method->self_address &&
		    frames[ids[i]].code == method->code)
			return 1;
	return 0;
}

/* What made a value that is a leaf; NULL: it was there before. */
static const struct vt_flow_node *maker_of_leaf(const struct vt_dataflow *flow, uint32_t index)
{
	const struct vt_flow_value *value = &flow->values[index];
	const struct vt_flow_node *maker = &flow->nodes[value->since];
	int is_result = value->since < flow->nr_nodes && index >= maker->first_output &&
			index < maker->first_output + maker->nr_outputs;

	return value->writer == VT_NO_INDEX && is_result ? maker : NULL;
}

/* Whether a product multiplies by a table that `reader` looks up in, or by what is made of it. */
static int is_of_table(const struct vt_dataflow *flow, const struct vt_flow_node *product,
		       const struct vt_flow_node *reader)
{
	uint32_t at[LEAVES_MAX], nr = 0;

	for (uint32_t i = 0; i < product->nr_inputs && nr < LEAVES_MAX; i++)
		at[nr++] = flow->inputs[product->first_input + i];
	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_flow_node *maker = maker_of_leaf(flow, at[i]);

		for (uint32_t k = 0; k < reader->nr_inputs; k++)
			if (at[i] == flow->inputs[reader->first_input + k])
				return 1;
		for (uint32_t k = 0; maker && k < maker->nr_inputs && nr < LEAVES_MAX; k++)
			at[nr++] = flow->inputs[maker->first_input + k];
	}
	return 0;
}

/*
 * A code book: the method that compares something with its rows chooses the nearest, and looks it
 * up there.  A decoder looks the chosen token up in its next call.
 */
static int is_quantised(struct vt_dataflow *flow, const struct vt_flow_node *product,
			struct vt_flow_node *choice, struct vt_flow_nodes *between)
{
	const struct vt_frame_python *method = vt_dataflow_method(flow, product);

	between->len = 0;
	if (!method || product->is_recurrent || choice->class != VT_OPERATOR_CHOICE ||
	    !is_below(flow, choice, method))
		return 0;
	vt_dataflow_walk(flow);
	vt_vector_push(between, vt_dataflow_index(flow, choice));
	for (size_t i = 0; i < between->len && between->len < BEFORE_MAX; i++) {
		const struct vt_flow_node *node = &flow->nodes[between->items[i]];
		struct vt_flow_node *reader;

		for (uint32_t k = 0; (reader = vt_dataflow_reader(flow, node, k)); k++) {
			if (!vt_dataflow_see(flow, reader) || !is_below(flow, reader, method))
				continue;
			if (is_of_table(flow, product, reader))
				return 1;
			if (!is_layer(reader))
				vt_vector_push(between, vt_dataflow_index(flow, reader));
		}
	}
	return 0;
}

static void label_all(struct vt_dataflow *flow, const struct vt_flow_nodes *found,
		      enum vt_flow_label label)
{
	for (size_t i = 0; i < found->len; i++)
		if (vt_flow_node_counts(&flow->nodes[found->items[i]]))
			flow->nodes[found->items[i]].label = (uint8_t)label;
}

/* A head's scores; or what a code book has like them, and what becomes of its choice. */
static void label_scores(struct vt_dataflow *flow, struct vt_flow_node *product,
			 struct vt_flow_node *end, struct search *search)
{
	int is_of_codes;

	if (product->label == VT_FLOW_LOGITS || !is_head(flow, product, search))
		return;
	is_of_codes = is_quantised(flow, product, end, &search->between);
	label_all(flow, &search->found, is_of_codes ? VT_FLOW_OTHER : VT_FLOW_LOGITS);
	if (is_of_codes)
		label_all(flow, &search->between, VT_FLOW_OTHER);
}

/* Back from a loss or a choice to the product whose results it is of. */
static void find_heads(struct vt_dataflow *flow, struct vt_flow_node *end, struct search *search)
{
	struct vt_flow_node *products[BEFORE_MAX];
	const struct vt_flow_node *nodes[BEFORE_MAX] = { end };
	unsigned nr = 1, nr_products = 0;

	vt_dataflow_walk(flow);
	for (unsigned i = 0; i < nr; i++) {
		uint32_t nr_inputs = nodes[i]->nr_inputs;

		/* What is chosen from, or looked up, is the first input. */
		if (nr_inputs > 1 && (nodes[i]->class == VT_OPERATOR_CHOICE ||
				      nodes[i]->class == VT_OPERATOR_INDEX))
			nr_inputs = 1;

		for (uint32_t k = 0; k < nr_inputs; k++) {
			struct vt_flow_node *writer = vt_dataflow_writer(flow, nodes[i], k);

			if (!writer || !vt_dataflow_see(flow, writer))
				continue;
			if (makes_scores(flow, writer, end))
				products[nr_products++ % BEFORE_MAX] = writer;
			else if (writer->class != VT_OPERATOR_PRODUCT && is_by_element(writer) &&
				 nr < BEFORE_MAX)
				nodes[nr++] = writer;
		}
	}
	for (unsigned i = 0; i < nr_products && i < BEFORE_MAX; i++)
		if (!is_ranking(end) || is_of_network(flow, products[i]))
			label_scores(flow, products[i], end, search);
}

/* Readers follow what they read. */
static void find_unread(struct vt_dataflow *flow)
{
	for (uint32_t n = flow->nr_nodes; n-- > 0;) {
		struct vt_flow_node *node = &flow->nodes[n];
		const struct vt_flow_node *reader;

		node->is_unread = vt_flow_node_counts(node) && node->label == VT_FLOW_NONE &&
				  (vt_flow_is_product(node) ? vt_dataflow_is_by_weight(flow, node)
							    : is_by_element(node));
		for (uint32_t k = 0; (reader = vt_dataflow_reader(flow, node, k)); k++)
			node->is_unread &= reader->is_unread && !vt_flow_is_product(reader);
	}
}

/* A product with the vocabulary, or its log-softmax: a row of scores, not what was picked there. */
static int is_whole_scores(const struct vt_dataflow *flow, uint32_t value)
{
	uint32_t writer = flow->values[vt_dataflow_origin(flow, value)].writer;
	const struct vt_flow_node *node = writer == VT_NO_INDEX ? NULL : &flow->nodes[writer];

	return node && node->label == VT_FLOW_LOGITS &&
	       (vt_flow_is_product(node) ||
		(node->class == VT_OPERATOR_LOSS &&
		 vt_dataflow_bytes(flow, node) >= vt_dataflow_input_bytes(flow, node) / 2));
}

/*
 * Whether a value is what an operator made that read no values (empty(), or empty_like() of a
 * tensor), or no operator that was observed.
 */
static int is_blank(const struct vt_dataflow *flow, uint32_t index)
{
	const struct vt_flow_node *maker = maker_of_leaf(flow, index);

	return flow->values[index].writer == VT_NO_INDEX &&
	       (!maker || !maker->nr_inputs || maker->class == VT_OPERATOR_FACTORY);
}

/* A blank tensor is filled with scores, a step of a sequence at a time. */
static int fills_scores(const struct vt_dataflow *flow, const struct vt_flow_node *copy)
{
	const struct vt_operator_call *call = &flow->model->calls.items[copy->operator];
	const char *name = vt_model_text(flow->model, call->name);

	return copy->label == VT_FLOW_LOGITS && copy->class == VT_OPERATOR_COPY &&
	       copy->nr_inputs == 2 && name && vt_operator_is_in_place(name) &&
	       is_whole_scores(flow, flow->inputs[copy->first_input + 1]) &&
	       is_blank(flow, flow->inputs[copy->first_input]);
}

/* Whether it multiplies by a table in which tokens are looked up. */
static int is_tied(const struct vt_dataflow *flow, const struct vt_flow_node *product,
		   const uint8_t *is_table)
{
	for (uint32_t i = 0; i < product->nr_inputs; i++) {
		const struct vt_flow_value *value = vt_dataflow_input(flow, product, i);

		if (value->writer == VT_NO_INDEX && is_table[value->allocation])
			return 1;
	}
	return 0;
}

/*
 * Scores of all tokens, whatever they are for: sparse retrieval takes the largest of a text and
 * compares them with those of another.
 */
static void label_tied_heads(struct vt_dataflow *flow, struct search *search)
{
	uint8_t *is_table = vt_xcalloc((size_t)flow->model->nr_allocations + 1, 1);

	for (uint32_t n = 0; n < flow->nr_nodes; n++)
		if (flow->nodes[n].class == VT_OPERATOR_EMBEDDING && flow->nodes[n].nr_inputs &&
		    !vt_dataflow_writer(flow, &flow->nodes[n], 0))
			is_table[vt_dataflow_input(flow, &flow->nodes[n], 0)->allocation] = 1;
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		struct vt_flow_node *node = &flow->nodes[n];

		if (node->label || !vt_flow_node_counts(node) ||
		    !vt_dataflow_is_by_weight(flow, node) || !is_tied(flow, node, is_table))
			continue;
		find_behind(flow, node, &search->found);
		label_all(flow, &search->found, VT_FLOW_LOGITS);
	}
	free(is_table);
}

void vt_flow_label_logits(struct vt_dataflow *flow)
{
	struct search search = { 0 };

	find_carried(flow, &search);
	for (uint32_t n = 0; n < flow->nr_nodes; n++) {
		struct vt_flow_node *node = &flow->nodes[n];

		if (vt_flow_node_counts(node) && (node->class == VT_OPERATOR_LOSS ||
						  node->class == VT_OPERATOR_NORMALISER ||
						  node->class == VT_OPERATOR_CHOICE))
			find_heads(flow, node, &search);
	}
	label_tied_heads(flow, &search);
	for (uint32_t n = 0; n < flow->nr_nodes; n++)
		flow->nodes[n].fills_scores = (uint8_t)fills_scores(flow, &flow->nodes[n]);
	find_unread(flow);
	vt_vector_release(&search.found);
	vt_vector_release(&search.between);
	vt_map_release(&search.carried);
}
