/* SPDX-License-Identifier: MIT */
#include "analyzer/report/pinned_host.h"

#include "analyzer/base/sort.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/output/json.h"

/* Reading one value of the device pins a few bytes. */
#define NOTICEABLE_BYTES VT_MIB

struct change {
	int64_t event;
	int64_t bytes;
};

static int compare(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->event < y->event ? -1 : x->event > y->event;
}

static int is_power_of_two(uint64_t size_bytes)
{
	return !(size_bytes & (size_bytes - 1));
}

static int64_t find_peak(const struct vt_model *model, uint64_t *peak_bytes)
{
	VT_VECTOR(struct change) changes = { 0 };
	int64_t bytes = 0, event = 0;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (a->common->kind != VT_KIND_PINNED)
			continue;
		vt_vector_push(&changes,
			       ((struct change){ a->event, (int64_t)a->common->size_bytes }));
		if (a->freed_event != VT_NEVER)
			vt_vector_push(&changes,
				       ((struct change){ a->freed_event,
							 -(int64_t)a->common->size_bytes }));
	}
	vt_vector_sort(&changes, compare);
	for (size_t i = 0; i < changes.len; i++) {
		bytes += changes.items[i].bytes;
		if (bytes <= (int64_t)*peak_bytes)
			continue;
		*peak_bytes = (uint64_t)bytes;
		event = changes.items[i].event;
	}
	free(changes.items);
	return event;
}

struct vt_pinned_host vt_pinned_host_find(const struct vt_model *model)
{
	struct vt_pinned_host pinned = { 0 };

	pinned.event = find_peak(model, &pinned.peak_bytes);
	for (uint32_t i = 0; pinned.peak_bytes && i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (a->common->kind != VT_KIND_PINNED || !vt_allocation_is_live(a, pinned.event))
			continue;
		pinned.nr_blocks++;
		if (is_power_of_two(a->common->size_bytes))
			pinned.rounded_bytes += a->common->size_bytes;
	}
	if (pinned.peak_bytes)
		pinned.is_torch = vt_db_query_int(model->db,
						  "SELECT EXISTS(SELECT 1 FROM native_frame WHERE"
						  " symbol GLOB '*CachingHostAllocator*')",
						  0) != 0;
	return pinned;
}

void vt_pinned_host_print(const struct vt_pinned_host *pinned, FILE *out)
{
	char peak[VT_UNITS_MAX], rounded[VT_UNITS_MAX];

	if (pinned->peak_bytes < NOTICEABLE_BYTES)
		return;
	fprintf(out, "pinned host memory: peak %s in %u block%s",
		vt_units_bytes(peak, sizeof(peak), pinned->peak_bytes), pinned->nr_blocks,
		pinned->nr_blocks == 1 ? "" : "s");
	if (pinned->is_torch && pinned->rounded_bytes)
		fprintf(out,
			"; PyTorch rounded %s up to powers of two: up to half of it is rounding",
			vt_units_bytes(rounded, sizeof(rounded), pinned->rounded_bytes));
	fputc('\n', out);
}

json_t *vt_pinned_host_json(const struct vt_pinned_host *pinned)
{
	json_t *object;

	if (!pinned->peak_bytes)
		return json_null();
	object = json_object();
	vt_json_set(object, "peak_bytes", pinned->peak_bytes);
	vt_json_set(object, "blocks", (uint64_t)pinned->nr_blocks);
	vt_json_set(object, "event", pinned->event);
	vt_json_set(object, "power_of_two_bytes",
		    pinned->is_torch ? pinned->rounded_bytes : (uint64_t)0);
	return object;
}
