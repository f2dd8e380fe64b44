/* SPDX-License-Identifier: MIT */
#include "analyzer/model/names.h"

#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "common/journal_format.h"

/*
 * Roles whose names are paths in a tree of modules or in a cache; the others begin at a variable
 * anyway.
 */
#define IN_TREE                                                                                    \
	(1u << VT_ROLE_PARAMETER | 1u << VT_ROLE_BUFFER | 1u << VT_ROLE_ATTRIBUTE |                \
	 1u << VT_ROLE_GRADIENT | 1u << VT_ROLE_OPTIMIZER | 1u << VT_ROLE_CACHE)

/* Rows of a damaged file may hold anything. */
static uint32_t role_bit(const struct vt_tensor *tensor)
{
	return tensor->role < 32 ? 1u << tensor->role : 0;
}

/* A cache that is a tensor has no name inside, only a variable. */
static int is_in_tree(const struct vt_tensor *tensor)
{
	return (role_bit(tensor) & IN_TREE) && (tensor->role != VT_ROLE_CACHE || tensor->name);
}

static int compare_numbers(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

/* Where tensors lie, numbered, and what has an owner and lay there: by place, then by event. */
struct places {
	struct vt_map numbers;
	uint64_t may_have
		[1024];  /* a bit per hash of an address: most allocations are at no such one */
	uint32_t *first; /* by place: index into `sorted`; one more at the end */
	uint32_t *sorted;
	uint32_t *driver; /* what comes from the driver and has one: few, and cut up by programs */
	uint32_t nr_driver;
};

struct found {
	uint32_t allocation;
	uint32_t place;
};

static struct vt_key place_of(int16_t device, uint64_t address)
{
	return (struct vt_key){ .a = address, .b = (uint16_t)device };
}

/* A bit of `may_have`; addresses of blocks differ from bit 9 on. */
static uint64_t bit_of(uint64_t address, size_t *word)
{
	uint64_t hash = vt_hash_mix(0, address >> 9);

	*word = hash >> 6 & 1023;
	return (uint64_t)1 << (hash & 63);
}

static const uint64_t *find_place(const struct places *places, const struct vt_allocation *a)
{
	size_t word;
	uint64_t bit = bit_of(a->address, &word);

	if (!(places->may_have[word] & bit))
		return NULL;
	return vt_map_find(&places->numbers, place_of(a->common->device, a->address));
}

static void number_places(struct places *places, const struct vt_model *model)
{
	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		struct vt_key key = place_of(tensor->device, tensor->address);

		size_t word;
		uint64_t bit = bit_of(tensor->address, &word);

		places->may_have[word] |= bit;
		if (!vt_map_find(&places->numbers, key))
			vt_map_put(&places->numbers, key, places->numbers.len);
	}
}

/* Allocations are in the order of their events: counted by place, then put there. */
static void find_places(struct places *places, const struct vt_model *model)
{
	VT_VECTOR(struct found) found = { 0 };

	number_places(places, model);
	places->first = vt_xcalloc(places->numbers.len + 2, sizeof(uint32_t));
	places->driver = vt_xcalloc((size_t)model->nr_allocations + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		const uint64_t *place;

		if (!vt_allocation_is_owned(a))
			continue;
		place = find_place(places, a);
		if (place) {
			vt_vector_push(&found, ((struct found){ i, (uint32_t)*place }));
			places->first[*place + 2]++;
		}
		if (vt_allocation_is_driver(a))
			places->driver[places->nr_driver++] = i;
	}
	for (size_t i = 0; i < places->numbers.len; i++)
		places->first[i + 2] += places->first[i + 1];
	places->sorted = vt_xcalloc(found.len + 1, sizeof(uint32_t));
	for (size_t i = 0; i < found.len; i++)
		places->sorted[places->first[found.items[i].place + 1]++] =
			found.items[i].allocation;
	vt_vector_release(&found);
}

static void release_places(struct places *places)
{
	vt_map_release(&places->numbers);
	free(places->first);
	free(places->sorted);
	free(places->driver);
}

/* The last allocation at exactly that address that was made at or before the event. */
static uint32_t find_exact(const struct places *places, const struct vt_model *model,
			   const struct vt_tensor *tensor)
{
	const uint64_t *place =
		vt_map_find(&places->numbers, place_of(tensor->device, tensor->address));
	uint32_t first = places->first[*place], nr = places->first[*place + 1] - first, low;
	const uint32_t *here = &places->sorted[first];

	low = (uint32_t)vt_search_first(i, nr, model->allocations[here[i]].event <= tensor->event);
	return low && vt_allocation_is_live(&model->allocations[here[low - 1]], tensor->event)
		       ? here[low - 1]
		       : VT_NO_INDEX;
}

static uint32_t find_allocation(const struct places *places, const struct vt_model *model,
				const struct vt_tensor *tensor)
{
	uint32_t exact = find_exact(places, model, tensor);

	if (exact != VT_NO_INDEX)
		return exact;
	for (uint32_t i = 0; i < places->nr_driver; i++) {
		const struct vt_allocation *a = &model->allocations[places->driver[i]];

		if (a->common->device == tensor->device && tensor->address >= a->address &&
		    tensor->address - a->address < a->common->size_bytes &&
		    vt_allocation_is_live(a, tensor->event))
			return places->driver[i];
	}
	return VT_NO_INDEX;
}

static int compare_rows(const void *a, const void *b, void *names_)
{
	const struct vt_names *names = names_;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct vt_tensor *x = &names->model->tensors[i], *y = &names->model->tensors[j];

	if (names->allocations[i] != names->allocations[j])
		return names->allocations[i] < names->allocations[j] ? -1 : 1;
	if (x->role != y->role)
		return x->role < y->role ? -1 : 1;
	return i < j ? -1 : i > j;
}

static void join_tensors(struct vt_names *names)
{
	const struct vt_model *model = names->model;
	struct places places = { 0 };
	uint32_t nr = 0;

	find_places(&places, model);
	names->allocations = vt_xcalloc((size_t)model->nr_tensors + 1, sizeof(uint32_t));
	names->by_allocation = vt_xcalloc((size_t)model->nr_tensors + 1, sizeof(uint32_t));
	vt_narrow_init(&names->first, (size_t)model->nr_allocations + 1);
	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		uint32_t allocation = find_allocation(&places, model, &model->tensors[i]);

		names->allocations[i] = allocation;
		/* The way to a tensor is no name of it. */
		if (allocation == VT_NO_INDEX || !role_bit(&model->tensors[i]) ||
		    model->tensors[i].role == VT_ROLE_HELD)
			continue;
		names->by_allocation[nr++] = i;
		vt_narrow_set(&names->first, allocation + 1,
			      vt_narrow_get(&names->first, allocation + 1) + 1);
	}
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		vt_narrow_set(&names->first, i + 1,
			      vt_narrow_get(&names->first, i + 1) +
				      vt_narrow_get(&names->first, i));
	qsort_r(names->by_allocation, nr, sizeof(uint32_t), compare_rows, names);
	release_places(&places);
}

static int compare_modules(const void *a, const void *b, void *model)
{
	const struct vt_torch_module *all = ((const struct vt_model *)model)->modules;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	if (all[i].address != all[j].address)
		return compare_numbers(all[i].address, all[j].address);
	return i < j ? -1 : i > j;
}

static void sort_modules(struct vt_names *names)
{
	const struct vt_model *model = names->model;

	names->modules = vt_xcalloc((size_t)model->nr_modules + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < model->nr_modules; i++)
		names->modules[i] = i;
	qsort_r(names->modules, model->nr_modules, sizeof(uint32_t), compare_modules,
		(void *)model);
}

/* A name that a holder's tree has, and what it names: an allocation, or a module's address. */
struct use {
	uint64_t place; /* role; of modules the look */
	uint64_t what;
	int64_t event; /* when it was seen */
	uint32_t name;
	uint32_t holder;
};

static int compare_uses(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->place != y->place)
		return compare_numbers(x->place, y->place);
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return compare_numbers(x->what, y->what);
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

typedef VT_VECTOR(struct use) use_vector;

static void gather_uses(const struct vt_names *names, use_vector *uses)
{
	const struct vt_model *model = names->model;

	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		struct use one = { tensor->role, names->allocations[i], tensor->event,
				   tensor->name, tensor->holder };

		if (one.what != VT_NO_INDEX && is_in_tree(tensor))
			vt_vector_push(uses, one);
	}
	for (uint32_t i = 0; i < model->nr_modules; i++) {
		const struct vt_torch_module *module = &model->modules[i];
		const char *path = vt_model_text(model, module->name);
		struct use one = { (uint64_t)module->probe << 8, module->address, module->event,
				   module->name, module->holder };

		/* Every tree has a root. */
		if (path && *path)
			vt_vector_push(uses, one);
	}
	vt_vector_sort(uses, compare_uses);
}

/* Different things of one name that were there at one time. */
static int do_clash(const struct vt_names *names, const struct use *x, const struct use *y)
{
	const struct vt_allocation *all = names->model->allocations;

	if (x->place != y->place || x->name != y->name || x->what == y->what ||
	    x->holder == y->holder)
		return 0;
	/* One look sees what is there at one time. */
	return x->place >> 8 || vt_allocation_is_live(&all[x->what], y->event) ||
	       vt_allocation_is_live(&all[y->what], x->event);
}

/* Two variables whose trees call different things the same. */
static void find_clashes(struct vt_names *names)
{
	VT_VECTOR(uint32_t) found = { 0 };
	use_vector uses = { 0 };

	gather_uses(names, &uses);
	for (size_t i = 1; i < uses.len; i++) {
		const struct use *x = &uses.items[i - 1], *y = &uses.items[i];

		if (!do_clash(names, x, y))
			continue;
		vt_vector_push(&found, x->holder);
		vt_vector_push(&found, y->holder);
	}
	names->clashing = found.items;
	names->nr_clashing = (uint32_t)vt_group(found.items, found.len, compare_ids, NULL);
	vt_vector_release(&uses);
}

static int compare_shapes(const void *a, const void *b, void *model)
{
	const struct vt_tensor *all = ((const struct vt_model *)model)->tensors;
	const struct vt_tensor *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];

	if (x->shape != y->shape)
		return x->shape < y->shape ? -1 : 1;
	if (x->dtype != y->dtype)
		return x->dtype < y->dtype ? -1 : 1;
	return x->role < y->role ? -1 : x->role > y->role;
}

/* Programs without modules have their parameters in variables. */
static int is_trained(const struct vt_tensor *tensor)
{
	const unsigned leaf = VT_TENSOR_LEAF | VT_TENSOR_REQUIRES_GRAD;

	return tensor->role == VT_ROLE_PARAMETER ||
	       (tensor->role == VT_ROLE_VARIABLE && (tensor->flags & leaf) == leaf);
}

static void find_parameters(struct vt_names *names)
{
	const struct vt_model *model = names->model;
	uint32_t kept = 0, nr = 0;

	names->parameters = vt_xcalloc((size_t)model->nr_tensors + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < model->nr_tensors; i++)
		if (is_trained(&model->tensors[i]))
			names->parameters[nr++] = i;
	qsort_r(names->parameters, nr, sizeof(uint32_t), compare_shapes, (void *)model);
	for (uint32_t i = 0; i < nr; i++)
		if (!kept || compare_shapes(&names->parameters[kept - 1], &names->parameters[i],
					    (void *)model) != 0)
			names->parameters[kept++] = names->parameters[i];
	names->nr_parameters = kept;
}

int vt_names_has_parameter_like(const struct vt_names *names, const struct vt_tensor *tensor)
{
	for (uint32_t i = 0; i < names->nr_parameters; i++) {
		const struct vt_tensor *one = &names->model->tensors[names->parameters[i]];

		if (one->role == VT_ROLE_PARAMETER && one->shape == tensor->shape &&
		    one->dtype != tensor->dtype)
			return 1;
	}
	return 0;
}

int vt_names_is_shaped_like(const struct vt_names *names, const struct vt_tensor *tensor)
{
	for (uint32_t i = 0; tensor->shape && i < names->nr_parameters; i++)
		if (names->model->tensors[names->parameters[i]].shape == tensor->shape)
			return 1;
	return 0;
}

void vt_names_init(struct vt_names *names, const struct vt_model *model)
{
	memset(names, 0, sizeof(*names));
	names->model = model;
	join_tensors(names);
	sort_modules(names);
	find_clashes(names);
	find_parameters(names);
}

void vt_names_release(struct vt_names *names)
{
	free(names->by_allocation);
	vt_narrow_release(&names->first);
	free(names->allocations);
	free(names->modules);
	free(names->clashing);
	free(names->parameters);
	memset(names, 0, sizeof(*names));
}

const uint32_t *vt_names_rows(const struct vt_names *names, uint32_t allocation, uint32_t *nr)
{
	uint32_t first = vt_narrow_get(&names->first, allocation);

	*nr = vt_narrow_get(&names->first, allocation + 1) - first;
	return names->by_allocation + first;
}

uint32_t vt_names_roles(const struct vt_names *names, uint32_t allocation)
{
	uint32_t nr, bits = 0;
	const uint32_t *rows = vt_names_rows(names, allocation, &nr);

	for (uint32_t i = 0; i < nr; i++)
		bits |= role_bit(&names->model->tensors[rows[i]]);
	return bits;
}

/* Tied weights are in several modules: their name is what named_parameters() says, the first. */
static int is_tied(const struct vt_tensor *a, const struct vt_tensor *b)
{
	return (a->role == VT_ROLE_PARAMETER || a->role == VT_ROLE_GRADIENT) &&
	       a->role == b->role && a->probe == b->probe && a->holder == b->holder &&
	       a->shape == b->shape;
}

const struct vt_tensor *vt_names_find(const struct vt_names *names, uint32_t allocation,
				      uint32_t role_mask)
{
	const struct vt_tensor *found = NULL;
	uint32_t nr;
	const uint32_t *rows = vt_names_rows(names, allocation, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_tensor *tensor = &names->model->tensors[rows[i]];

		if (found && tensor->role != found->role)
			break;
		if (role_bit(tensor) & role_mask && !(found && is_tied(found, tensor)))
			found = tensor;
	}
	return found;
}

const struct vt_torch_module *vt_names_module(const struct vt_names *names, uint64_t address,
					      uint32_t class_name, int64_t event)
{
	const struct vt_torch_module *all = names->model->modules, *found = NULL;
	uint32_t low = vt_search_first(i, names->model->nr_modules,
				       all[names->modules[i]].address < address);

	for (; low < names->model->nr_modules; low++) {
		const struct vt_torch_module *module = &all[names->modules[low]];

		if (module->address != address || (found && module->event > event))
			break;
		if (module->class_name == class_name)
			found = module;
	}
	return found;
}

/* "main: critic" -> "critic" */
static const char *variable_of(const char *holder)
{
	const char *colon = holder ? strstr(holder, ": ") : NULL;

	return colon ? colon + 2 : holder;
}

/* The holder where it is needed, and what follows it. */
static char *join_path(const struct vt_names *names, uint32_t holder, uint32_t name)
{
	const char *text = vt_model_text(names->model, name);
	const char *variable = variable_of(vt_model_text(names->model, holder));
	int has_holder = variable && names->nr_clashing &&
			 bsearch(&holder, names->clashing, names->nr_clashing, sizeof(holder),
				 compare_ids) != NULL;

	if (!has_holder)
		return vt_xstrdup(text ? text : "");
	return text && *text ? vt_xasprintf("%s.%s", variable, text) : vt_xstrdup(variable);
}

char *vt_names_tensor_path(const struct vt_names *names, const struct vt_tensor *tensor)
{
	const char *text;

	if (is_in_tree(tensor))
		return join_path(names, tensor->holder, tensor->name);
	text = vt_model_text(names->model, tensor->name || tensor->role == VT_ROLE_STATED ?
						   tensor->name :
						   tensor->holder);
	return vt_xstrdup(text ? text : "");
}

char *vt_names_module_path(const struct vt_names *names, const struct vt_torch_module *module)
{
	return join_path(names, module->holder, module->name);
}
