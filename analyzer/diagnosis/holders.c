/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/holders.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/sort.h"
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
static void add(struct vt_leak *leak, char *path, char *kinds, int has_graph)
{
	struct vt_holder fresh = { .path = path, .kinds = kinds };
	struct vt_holder *holder = NULL;

	for (uint32_t i = 0; i < leak->nr_holders && !holder; i++)
		if (strcmp(leak->holders[i].path, path) == 0)
			holder = &leak->holders[i];
	if (!holder) {
		leak->holders = vt_xrealloc(leak->holders,
					    (leak->nr_holders + 1) * sizeof(*leak->holders));
		holder = &leak->holders[leak->nr_holders++];
		*holder = fresh;
	} else {
		free(path);
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

/* What is looked at of the model's tensors. */
struct search {
	const struct vt_names *names;
	const uint32_t *groups; /* by allocation */
	struct vt_leak **by_group;
	uint32_t *last_search; /* by group: the last probe that found ways from its tensors */
	struct vt_map last;    /* by name and holder: the row that was seen last */
	int64_t event;
};

static struct vt_leak *leak_of(const struct search *search, uint32_t row)
{
	uint32_t allocation = search->names->allocations[row];

	if (allocation == VT_NO_INDEX || search->groups[allocation] == VT_NO_INDEX ||
	    !vt_allocation_is_live(&search->names->model->allocations[allocation], search->event))
		return NULL;
	return search->by_group[search->groups[allocation]];
}

static int is_naming(const struct vt_tensor *tensor)
{
	return tensor->role < 32 && (NAMING >> tensor->role & 1);
}

static struct vt_key key_of(const struct vt_tensor *tensor)
{
	return (struct vt_key){ tensor->name, tensor->holder, tensor->role };
}

static void find_last(struct search *search)
{
	const struct vt_model *model = search->names->model;

	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		const struct vt_leak *leak = leak_of(search, i);

		if (is_naming(tensor))
			vt_map_put(&search->last, key_of(tensor), i);
		else if (leak && tensor->role == VT_ROLE_HELD &&
			 search->last_search[leak->group] < tensor->probe)
			search->last_search[leak->group] = tensor->probe;
	}
}

/* Whether a name holds what it was seen to hold: not, where another tensor had it later. */
static int is_current(const struct search *search, uint32_t row)
{
	const struct vt_tensor *tensor = &search->names->model->tensors[row];
	const uint64_t *last = vt_map_find(&search->last, key_of(tensor));

	return search->names->allocations[*last] == search->names->allocations[row];
}

/* A variable of one tensor: of a pile it can have no more, but for the graph behind that one. */
static int is_plain(const struct search *search, const struct vt_tensor *tensor)
{
	const char *name = vt_model_text(search->names->model, tensor->name);

	return tensor->role == VT_ROLE_VARIABLE && name && !strchr(name, '.');
}

static int is_one_of_many(const struct vt_leak *leak, const struct vt_tensor *tensor)
{
	return leak->form == VT_LEAK_ACCUMULATING && leak->blocks > 1 && !has_graph(tensor);
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

/* Those that are asked only where the ones before saw nobody. */
enum rows { WAYS, CONTAINERS, VARIABLES };

static int is_row(const struct search *search, const struct vt_leak *leak, uint32_t row,
		  enum rows rows)
{
	const struct vt_tensor *tensor = &search->names->model->tensors[row];

	if (rows == WAYS)
		return tensor->role == VT_ROLE_HELD &&
		       tensor->probe == search->last_search[leak->group];
	if (!is_naming(tensor) || search->last_search[leak->group] || !is_current(search, row))
		return 0;
	if (rows == CONTAINERS)
		return !is_plain(search, tensor);
	return !leak->nr_holders && is_plain(search, tensor) && !is_one_of_many(leak, tensor);
}

static void see_all(const struct search *search, enum rows rows)
{
	const struct vt_model *model = search->names->model;

	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		struct vt_leak *leak = leak_of(search, i);

		if (leak && is_row(search, leak, i, rows))
			see(leak, model, &model->tensors[i]);
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
	return strcmp(x->path, y->path);
}

static int are_same_turns(const struct vt_leak *a, const struct vt_leak *b)
{
	return a->first_iteration == b->first_iteration && a->last_iteration == b->last_iteration;
}

/* Who mostly holds results of autograd that are made there; NULL: nobody. */
static const struct vt_holder *result_holder(const struct vt_leak *leak)
{
	for (uint32_t i = 0; i < leak->nr_holders; i++)
		if (leak->holders[i].has_graph && !strstr(leak->holders[i].kinds, GRAPH))
			return &leak->holders[i];
	return NULL;
}

/* Of what grows in the same iterations, the one holder of results; NULL: none, or two. */
static const struct vt_holder *find_result(const struct vt_leak *leaks, uint32_t nr,
					   const struct vt_leak *leak)
{
	const struct vt_holder *found = NULL;

	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_holder *holder = result_holder(&leaks[i]);

		if (!holder || !are_same_turns(&leaks[i], leak))
			continue;
		if (found && strcmp(found->path, holder->path) != 0)
			return NULL;
		found = holder;
	}
	return found;
}

/*
 * The one name of a result that is older than the leak, and alive: a sum that was added to in
 * place.  NULL: none, or two.
 */
static char *find_sum(const struct search *search, const struct vt_leak *leak)
{
	const struct vt_model *model = search->names->model;
	const struct vt_tensor *found = NULL;

	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		uint32_t index = search->names->allocations[i];

		if (!is_naming(tensor) || !has_graph(tensor) || index == VT_NO_INDEX ||
		    !vt_allocation_is_live(&model->allocations[index], search->event) ||
		    model->allocations[index].event > model->allocations[leak->kept[0]].event ||
		    !is_current(search, i))
			continue;
		if (found && found->name != tensor->name)
			return NULL;
		found = tensor;
	}
	return found ? vt_xasprintf(VARIABLE " %s of %s", vt_model_text(model, found->name),
				    vt_model_text(model, found->holder))
		     : NULL;
}

static void add_graph(struct vt_holder *holder, const char *path, const char *kinds)
{
	free(holder->path);
	free(holder->kinds);
	holder->path = vt_xasprintf("%s > " GRAPH, path);
	holder->kinds = vt_xasprintf("%s," GRAPH, kinds);
}

/* Nothing of Python's holds it, or nothing was seen: through the graph of a result. */
static void look_through_graphs(const struct search *search, struct vt_leak *leaks, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_holder *result;
		int is_only_graph = leaks[i].nr_holders == 1 && is_graph(&leaks[i].holders[0]);
		char *sum = NULL;

		if (!is_only_graph)
			continue;
		result = find_result(leaks, nr, &leaks[i]);
		if (!result)
			sum = find_sum(search, &leaks[i]);
		if (result)
			add_graph(&leaks[i].holders[0], result->path, result->kinds);
		else if (sum)
			add_graph(&leaks[i].holders[0], sum, VARIABLE);
		free(sum);
	}
}

void vt_holders_find(struct vt_leak *leaks, uint32_t nr, const struct vt_names *names,
		     const uint32_t *groups, uint32_t nr_groups, int64_t event)
{
	struct search search = { .names = names, .groups = groups, .event = event };

	search.by_group = vt_xcalloc((size_t)nr_groups + 1, sizeof(*search.by_group));
	search.last_search = vt_xcalloc((size_t)nr_groups + 1, sizeof(*search.last_search));
	for (uint32_t i = 0; i < nr; i++)
		search.by_group[leaks[i].group] = &leaks[i];
	find_last(&search);
	see_all(&search, WAYS);
	see_all(&search, CONTAINERS);
	see_all(&search, VARIABLES);
	for (uint32_t i = 0; i < nr; i++)
		vt_sort(leaks[i].holders, leaks[i].nr_holders, compare_holders);
	look_through_graphs(&search, leaks, nr);
	vt_map_release(&search.last);
	free(search.last_search);
	free(search.by_group);
}

void vt_holders_release(struct vt_leak *leak)
{
	for (uint32_t i = 0; i < leak->nr_holders; i++) {
		free(leak->holders[i].path);
		free(leak->holders[i].kinds);
	}
	free(leak->holders);
}
