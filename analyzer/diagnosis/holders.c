/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/holders.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "common/journal_format.h"

#define GRAPH	 "graph"
#define VARIABLE "variable"

/* Roles whose name says who holds it; what else has a role is where it belongs. */
#define NAMING (1u << VT_ROLE_VARIABLE | 1u << VT_ROLE_ATTRIBUTE | 1u << VT_ROLE_CACHE)

static int is_graph(const struct vt_holder *holder)
{
	return strcmp(holder->kinds, GRAPH) == 0;
}

/* Takes the texts. */
static void add(struct vt_leak *leak, char *way, char *kinds, int has_graph)
{
	struct vt_holder fresh = { .way = way, .kinds = kinds };
	struct vt_holder *holder = NULL;

	for (uint32_t i = 0; i < leak->nr_holders && !holder; i++)
		if (strcmp(leak->holders[i].way, way) == 0)
			holder = &leak->holders[i];
	if (!holder) {
		leak->holders = vt_xrealloc(leak->holders,
					    (leak->nr_holders + 1) * sizeof(*leak->holders));
		holder = &leak->holders[leak->nr_holders++];
		*holder = fresh;
	} else {
		free(way);
		free(kinds);
	}
	holder->tensors++;
	holder->has_graph |= (uint8_t)has_graph;
}

/* "memory.history.3" as "memory.history.*": one holder, whatever the number. */
static char *without_numbers(const char *name)
{
	struct vt_buffer text;
	int is_start = 1;

	vt_buffer_init(&text);
	while (*name) {
		size_t len = strspn(name, "0123456789");

		if (is_start && len && (!name[len] || name[len] == '.')) {
			vt_buffer_puts(&text, "*");
			name += len;
			continue;
		}
		is_start = *name == '.';
		vt_buffer_append(&text, name++, 1);
	}
	return vt_buffer_detach(&text);
}

/* A result of autograd keeps what its backward pass would need. */
static int has_graph(const struct vt_tensor *tensor)
{
	return (tensor->flags & VT_TENSOR_REQUIRES_GRAD) && !(tensor->flags & VT_TENSOR_LEAF);
}

static void see(struct vt_leak *leak, const struct vt_model *model, const struct vt_tensor *tensor)
{
	const char *name = vt_model_text(model, tensor->name);
	const char *holder = vt_model_text(model, tensor->holder);
	char *short_name;

	if (!name || !holder)
		return;
	if (tensor->role == VT_ROLE_HELD) {
		add(leak, vt_xstrdup(name), vt_xstrdup(holder), has_graph(tensor));
		return;
	}
	short_name = without_numbers(name);
	add(leak, vt_xasprintf(VARIABLE " %s of %s", short_name, holder), vt_xstrdup(VARIABLE),
	    has_graph(tensor));
	free(short_name);
}

/* Rows of one kind: a way where there is one, else names. */
static void see_all(struct vt_leak **by_group, const struct vt_names *names, const uint32_t *groups,
		    int is_held)
{
	const struct vt_model *model = names->model;

	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		uint32_t allocation = names->allocations[i];
		struct vt_leak *leak;

		if (allocation == VT_NO_INDEX || groups[allocation] == VT_NO_INDEX ||
		    (is_held ? tensor->role != VT_ROLE_HELD
			     : tensor->role >= 32 || !(NAMING >> tensor->role & 1)))
			continue;
		leak = by_group[groups[allocation]];
		if (leak && (is_held || !leak->nr_holders))
			see(leak, model, tensor);
	}
}

/* Those that say something before those of the graph, the most frequent first. */
static int compare_holders(const void *a, const void *b)
{
	const struct vt_holder *x = a, *y = b;

	if (is_graph(x) != is_graph(y))
		return is_graph(x) - is_graph(y);
	if (x->tensors != y->tensors)
		return x->tensors > y->tensors ? -1 : 1;
	return strcmp(x->way, y->way);
}

static int are_same_turns(const struct vt_leak *a, const struct vt_leak *b)
{
	return a->first_turn == b->first_turn && a->last_turn == b->last_turn;
}

/* Who mostly holds results of autograd that are made there; NULL: nobody. */
static const struct vt_holder *result_holder(const struct vt_leak *leak)
{
	for (uint32_t i = 0; i < leak->nr_holders; i++)
		if (leak->holders[i].has_graph && !strstr(leak->holders[i].kinds, GRAPH))
			return &leak->holders[i];
	return NULL;
}

/* Of what grows in the same turns, the one holder of results; NULL: none, or two. */
static const struct vt_holder *find_result(const struct vt_leak *leaks, uint32_t nr,
					   const struct vt_leak *leak)
{
	const struct vt_holder *found = NULL;

	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_holder *holder = result_holder(&leaks[i]);

		if (!holder || !are_same_turns(&leaks[i], leak))
			continue;
		if (found && strcmp(found->way, holder->way) != 0)
			return NULL;
		found = holder;
	}
	return found;
}

/* Nothing of Python's holds it, or nothing was seen: through the graph of a result. */
static void look_through_graphs(struct vt_leak *leaks, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_holder *result;
		int is_only_graph = leaks[i].nr_holders == 1 && is_graph(&leaks[i].holders[0]);

		if (!is_only_graph)
			continue;
		result = find_result(leaks, nr, &leaks[i]);
		if (!result)
			continue;
		free(leaks[i].holders[0].way);
		free(leaks[i].holders[0].kinds);
		leaks[i].holders[0].way = vt_xasprintf("%s > " GRAPH, result->way);
		leaks[i].holders[0].kinds = vt_xasprintf("%s," GRAPH, result->kinds);
	}
}

void vt_holders_find(struct vt_leak *leaks, uint32_t nr, const struct vt_names *names,
		     const uint32_t *groups, uint32_t nr_groups)
{
	struct vt_leak **by_group = vt_xcalloc((size_t)nr_groups + 1, sizeof(*by_group));

	for (uint32_t i = 0; i < nr; i++)
		by_group[leaks[i].group] = &leaks[i];
	see_all(by_group, names, groups, 1);
	see_all(by_group, names, groups, 0);
	free(by_group);
	for (uint32_t i = 0; i < nr; i++)
		if (leaks[i].nr_holders)
			qsort(leaks[i].holders, leaks[i].nr_holders, sizeof(*leaks[i].holders),
			      compare_holders);
	look_through_graphs(leaks, nr);
}

void vt_holders_release(struct vt_leak *leak)
{
	for (uint32_t i = 0; i < leak->nr_holders; i++) {
		free(leak->holders[i].way);
		free(leak->holders[i].kinds);
	}
	free(leak->holders);
}
