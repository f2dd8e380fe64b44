/* SPDX-License-Identifier: MIT */
#include "analyzer/analysis/books_json.h"

#include <string.h>

#include "analyzer/output/json.h"

static json_t *provenance(const uint64_t *bytes)
{
	json_t *object = json_object();

	for (unsigned p = 0; p < VT_PROVENANCE_UNKNOWN; p++)
		vt_json_set(object, vt_evidence_provenances[p], bytes[p]);
	return object;
}

static void append_owner(json_t *array, const char *owner, uint64_t bytes, uint32_t blocks,
			 const uint64_t *by_provenance)
{
	json_t *object = vt_json_append_object(array);

	vt_json_set(object, "owner", owner);
	vt_json_set(object, "bytes", bytes);
	vt_json_set(object, "blocks", blocks);
	vt_json_set(object, "provenance", provenance(by_provenance));
}

/* Of weights: what probes saw to be trained, and frozen; the rest was not seen. */
static void append_details(json_t *owners, const struct vt_books_line *line)
{
	json_t *last = json_array_get(owners, json_array_size(owners) - 1);

	vt_json_set(last, "requested_bytes", line->requested_bytes);
	if (strcmp(line->owner, VT_OWNER_WEIGHTS) != 0)
		return;
	vt_json_set(last, "trained_bytes", line->trained_bytes);
	vt_json_set(last, "frozen_bytes", line->frozen_bytes);
}

/* Leaves, and what the books need besides them to add up to the device's use. */
static json_t *owners(const struct vt_books *books)
{
	static const uint64_t nothing[VT_NR_PROVENANCES];
	json_t *array = json_array();

	for (uint32_t i = 0; i < books->nr_lines; i++) {
		const struct vt_books_line *line = &books->lines[i];

		append_owner(array, line->owner, line->bytes, line->blocks, line->provenance);
		append_details(array, line);
	}
	for (uint32_t i = 0; i < books->nr_rest; i++)
		append_owner(array, books->rest[i].owner, books->rest[i].bytes, 0, nothing);
	return array;
}

void vt_books_json_set(json_t *object, const struct vt_books *books)
{
	vt_json_set(object, "device_used_bytes", vt_books_device_used(books));
	vt_json_set(object, "reserved_bytes", books->reserved_bytes);
	vt_json_set(object, "allocated_bytes", books->allocated_bytes);
	vt_json_set(object, "allocated_requested_bytes", books->requested_bytes);
	vt_json_set(object, "cached_bytes", books->cached_bytes);
	vt_json_set(object, "cached_free_segments_bytes", books->free_segment_bytes);
	vt_json_set(object, "cached_pinned_bytes", books->pinned_bytes);
	vt_json_set(object, "cached_pool_bytes", books->idle_pool_bytes);
	vt_json_set(object, "cached_graph_memory_bytes", books->idle_graph_bytes);
	vt_json_set(object, "graph_pools_bytes", books->graph_pool_bytes);
	vt_json_set(object, "rounding_bytes", books->rounding_bytes);
	vt_json_set_if(object, "context_bytes", books->has_context, books->context_bytes);
	vt_json_set_if(object, "other_processes_bytes", books->has_other, books->other_bytes);
	vt_json_set(object, "difference_bytes", books->difference_bytes);
	vt_json_set(object, "owners", owners(books));
}
