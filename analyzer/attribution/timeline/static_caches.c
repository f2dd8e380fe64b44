/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/static_caches.h"

#include "analyzer/attribution/calls/operator_classes.h"
#include "analyzer/base/search.h"
#include "analyzer/base/util.h"

#define LEAST_BLOCKS 2
/* Keys and values of one token of a small model; running statistics are smaller. */
#define LEAST_BYTES 4096

/* A block that a call wrote in place. */
struct written {
	uint32_t allocation;
	uint8_t is_read; /* ... and computed with afterwards */
};

typedef VT_VECTOR(struct written) written_vector;

struct search {
	const struct vt_model *model;
	const struct vt_passes *passes;
	struct vt_static_caches *caches;
	uint8_t *is_copy; /* by string: an operator that copies into its first argument */
	written_vector written;
};

static void find_copies(struct search *search)
{
	const struct vt_operator_calls *calls = &search->model->calls;

	search->is_copy = vt_xcalloc((size_t)search->model->strings.nr + 1, 1);
	for (uint32_t i = 0; i < calls->nr; i++) {
		const char *name = vt_model_text(search->model, calls->items[i].name);

		if (name && vt_operator_is_in_place(name) &&
		    vt_operator_class(name) == VT_OPERATOR_COPY)
			search->is_copy[calls->items[i].name] = 1;
	}
}

static struct written *find_written(written_vector *written, uint32_t allocation)
{
	for (size_t i = 0; i < written->len; i++)
		if (written->items[i].allocation == allocation)
			return &written->items[i];
	return NULL;
}

static void see_writing(struct search *search, const struct vt_operator_call *call,
			const struct vt_pass *pass)
{
	struct written fresh = { search->model->calls.tensors[call->first_tensor].allocation, 0 };
	const struct vt_allocation *a;

	if (!call->nr_tensors || fresh.allocation == VT_NO_INDEX)
		return;
	a = &search->model->allocations[fresh.allocation];
	if (a->event < pass->first_event && a->freed_event >= pass->end_event &&
	    a->common->size_bytes >= LEAST_BYTES &&
	    !find_written(&search->written, fresh.allocation))
		vt_vector_push(&search->written, fresh);
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
		struct written *one =
			tensors[i].is_output || tensors[i].allocation == result
				? NULL
				: find_written(&search->written, tensors[i].allocation);

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

/* How many that were written and read hold as much as that one. */
static uint32_t count_alike(const struct search *search, const struct written *one)
{
	const struct vt_allocation *all = search->model->allocations;
	uint64_t bytes = all[one->allocation].common->size_bytes;
	uint32_t nr = 0;

	for (size_t i = 0; i < search->written.len && one->is_read; i++) {
		const struct written *other = &search->written.items[i];

		nr += other->is_read && vt_carried_tensors_is_as_large(
						all[other->allocation].common->size_bytes, bytes);
	}
	return nr;
}

/* Whether several of one size were written and read: notes where they were made. */
static int has_cache(struct search *search)
{
	int found = 0;

	for (size_t i = 0; i < search->written.len; i++) {
		const struct written *one = &search->written.items[i];
		const struct vt_allocation *a = &search->model->allocations[one->allocation];

		if (count_alike(search, one) < LEAST_BLOCKS)
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

	search->written.len = 0;
	for (uint32_t i = first; i < calls->nr && calls->items[i].event < pass->end_event; i++) {
		const struct vt_operator_call *call = &calls->items[i];

		if (call->thread != pass->thread || call->node_class)
			continue;
		if (search->is_copy[call->name])
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
	find_copies(&search);
	for (uint32_t i = 0; i < passes->nr; i++)
		if (!passes->passes[i].has_autograd && !passes->passes[i].generation)
			look_at(&search, &passes->passes[i]);
	free(search.is_copy);
	vt_vector_release(&search.written);
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
