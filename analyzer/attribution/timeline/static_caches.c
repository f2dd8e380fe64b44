/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/static_caches.h"

#include "analyzer/attribution/calls/operator_classes.h"
#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

/* Keys and values of one token of a small model; running statistics are smaller. */
#define LEAST_BYTES 4096

/* What is known of an operator by its name. */
#define IS_KNOWN 1u
#define IS_COPY  2u /* into its first argument */

/* A block that a call wrote in place. */
struct written {
	uint32_t allocation;
	uint8_t is_read;   /* ... and computed with afterwards */
	uint8_t has_alike; /* another one that was read holds as much */
};

struct sized {
	uint64_t bytes;
	uint32_t written; /* index */
};

struct search {
	const struct vt_model *model;
	const struct vt_passes *passes;
	struct vt_static_caches *caches;
	uint8_t *by_name;     /* by string */
	uint32_t *written_at; /* by allocation: index of what the call wrote + 1 */
	VT_VECTOR(struct written) written;
	VT_VECTOR(struct sized) read; /* of these, by size */
};

static void find_copies(struct search *search)
{
	const struct vt_operator_calls *calls = &search->model->calls;

	for (uint32_t i = 0; i < calls->nr; i++) {
		uint8_t *known = &search->by_name[calls->items[i].name];
		const char *name =
			*known ? NULL : vt_model_text(search->model, calls->items[i].name);

		*known |= IS_KNOWN;
		if (name && vt_operator_is_in_place(name) &&
		    vt_operator_class(name) == VT_OPERATOR_COPY)
			*known |= IS_COPY;
	}
}

/* NULL: the call did not write it. */
static struct written *find_written(const struct search *search, uint32_t allocation)
{
	uint32_t at = allocation == VT_NO_INDEX ? 0 : search->written_at[allocation];

	return at ? &search->written.items[at - 1] : NULL;
}

static void forget_written(struct search *search)
{
	for (size_t i = 0; i < search->written.len; i++)
		search->written_at[search->written.items[i].allocation] = 0;
	search->written.len = 0;
}

static void see_writing(struct search *search, const struct vt_operator_call *call,
			const struct vt_pass *pass)
{
	struct written fresh = { 0 };
	const struct vt_allocation *a;

	if (!call->nr_tensors)
		return;
	fresh.allocation = search->model->calls.tensors[call->first_tensor].allocation;
	if (fresh.allocation == VT_NO_INDEX)
		return;
	a = &search->model->allocations[fresh.allocation];
	if (a->event < pass->first_event && a->freed_event >= pass->end_event &&
	    a->common->size_bytes >= LEAST_BYTES && !find_written(search, fresh.allocation)) {
		vt_vector_push(&search->written, fresh);
		search->written_at[fresh.allocation] = (uint32_t)search->written.len;
	}
}

/* A view makes no block: what it looks at is what it returns. */
static void see_reading(struct search *search, const struct vt_operator_call *call)
{
	const struct vt_call_tensor *tensors = &search->model->calls.tensors[call->first_tensor];
	uint32_t result = VT_NO_INDEX;

	for (uint32_t i = 0; i < call->nr_tensors; i++)
		if (tensors[i].is_output)
			result = tensors[i].allocation;
	for (uint32_t i = 0; i < call->nr_tensors && result != VT_NO_INDEX; i++) {
		struct written *one = tensors[i].is_output || tensors[i].allocation == result
					      ? NULL
					      : find_written(search, tensors[i].allocation);

		if (one)
			one->is_read = 1;
	}
}

static struct vt_key module_key(uint64_t module)
{
	return (struct vt_key){ module, 0, 0 };
}

static struct vt_key place_key(const struct vt_allocation *a)
{
	return (struct vt_key){ a->common->made->python_stack, 0, 0 };
}

static int compare_sized(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;

	return x->bytes == y->bytes ? 0 : x->bytes < y->bytes ? -1 : 1;
}

/* Of what was written and read.  What holds as much as another one does so as its next by size. */
static void find_alike(struct search *search)
{
	search->read.len = 0;
	for (uint32_t i = 0; i < search->written.len; i++) {
		const struct written *one = &search->written.items[i];
		struct sized sized = {
			search->model->allocations[one->allocation].common->size_bytes, i
		};

		if (one->is_read)
			vt_vector_push(&search->read, sized);
	}
	vt_vector_sort(&search->read, compare_sized);
	for (size_t i = 1; i < search->read.len; i++) {
		const struct sized *less = &search->read.items[i - 1], *more = less + 1;

		if (!vt_carried_tensors_is_as_large(less->bytes, more->bytes))
			continue;
		search->written.items[less->written].has_alike = 1;
		search->written.items[more->written].has_alike = 1;
	}
}

/* Whether several of one size were written and read: notes where they were made. */
static int has_cache(struct search *search)
{
	int found = 0;

	find_alike(search);
	for (size_t i = 0; i < search->written.len; i++) {
		const struct written *one = &search->written.items[i];
		const struct vt_allocation *a = &search->model->allocations[one->allocation];

		if (!one->has_alike)
			continue;
		found = 1;
		/* Without a stack it is not known which others were made there. */
		if (a->common->made->python_stack)
			vt_map_put(&search->caches->places, place_key(a), a->common->size_bytes);
	}
	return found;
}

static void look_at(struct search *search, const struct vt_pass *pass)
{
	const struct vt_operator_calls *calls = &search->model->calls;
	uint32_t first =
		(uint32_t)vt_search_first(i, calls->nr, calls->items[i].event < pass->first_event);

	forget_written(search);
	for (uint32_t i = first; i < calls->nr && calls->items[i].event < pass->end_event; i++) {
		const struct vt_operator_call *call = &calls->items[i];

		if (call->thread != pass->thread || call->node_class)
			continue;
		if (search->by_name[call->name] & IS_COPY)
			see_writing(search, call, pass);
		else if (search->written.len)
			see_reading(search, call);
	}
	if (has_cache(search))
		vt_map_put(&search->caches->modules, module_key(pass->module), 1);
}

void vt_static_caches_init(struct vt_static_caches *caches, const struct vt_model *model,
			   const struct vt_passes *passes)
{
	struct search search = { .model = model, .passes = passes, .caches = caches };

	*caches = (struct vt_static_caches){ 0 };
	if (!model->calls.nr)
		return;
	search.by_name = vt_xcalloc((size_t)model->strings.nr + 1, 1);
	search.written_at =
		vt_xcalloc((size_t)model->nr_allocations + 1, sizeof(*search.written_at));
	find_copies(&search);
	for (uint32_t i = 0; i < passes->nr; i++)
		if (!passes->passes[i].has_autograd && !passes->passes[i].generation)
			look_at(&search, &passes->passes[i]);
	free(search.by_name);
	free(search.written_at);
	vt_vector_release(&search.written);
	vt_vector_release(&search.read);
}

void vt_static_caches_release(struct vt_static_caches *caches)
{
	vt_map_release(&caches->modules);
	vt_map_release(&caches->places);
}

int vt_static_caches_has(const struct vt_static_caches *caches, uint64_t module)
{
	return vt_map_find(&caches->modules, module_key(module)) != NULL;
}

int vt_static_caches_is_block(const struct vt_static_caches *caches, const struct vt_allocation *a)
{
	const uint64_t *size = vt_map_find(&caches->places, place_key(a));

	return size && vt_allocation_is_owned(a) && !a->common->made->node_class &&
	       vt_carried_tensors_is_as_large(a->common->size_bytes, *size);
}

uint32_t vt_static_caches_find_row(const struct vt_carried_tensors *carried, uint32_t position)
{
	uint64_t most = vt_carried_tensors_first_size(carried, position), size = 0, next;
	uint32_t end = position + 1;

	for (; vt_carried_tensors_later(carried, end - 1, 1) &&
	       !vt_carried_tensors_pass(carried, end)->has_autograd;
	     end++) {
		next = vt_carried_tensors_first_size(carried, end);
		if (next > most || (size && next != size))
			break;
		size = next;
	}
	return end;
}
