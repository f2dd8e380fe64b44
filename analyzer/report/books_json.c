/* SPDX-License-Identifier: MIT */
#include "analyzer/report/books_json.h"

#include <string.h>

#include "analyzer/report/json.h"

static json_t *provenance(const uint64_t *bytes)
{
	json_t *object = json_object();

	for (unsigned p = 0; p < VT_PROVENANCE_UNKNOWN; p++)
		json_object_set_new(object, vt_evidence_provenances[p], vt_json_integer(bytes[p]));
	return object;
}

static void append_owner(json_t *array, const char *owner, uint64_t bytes, uint32_t blocks,
			 const uint64_t *by_provenance)
{
	json_t *object = json_object();

	json_object_set_new(object, "owner", vt_json_text(owner));
	json_object_set_new(object, "bytes", vt_json_integer(bytes));
	json_object_set_new(object, "blocks", json_integer(blocks));
	json_object_set_new(object, "provenance", provenance(by_provenance));
	json_array_append_new(array, object);
}

/* Of weights: what probes saw to be trained, and frozen; the rest was not seen. */
static void append_details(json_t *owners, const struct vt_books_line *line)
{
	json_t *last = json_array_get(owners, json_array_size(owners) - 1);

	json_object_set_new(last, "requested_bytes", vt_json_integer(line->requested_bytes));
	if (strcmp(line->owner, VT_OWNER_WEIGHTS) != 0)
		return;
	json_object_set_new(last, "trained_bytes", vt_json_integer(line->trained_bytes));
	json_object_set_new(last, "frozen_bytes", vt_json_integer(line->frozen_bytes));
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
	json_object_set_new(object, "device_used_bytes",
			    vt_json_integer(vt_books_device_used(books)));
	json_object_set_new(object, "reserved_bytes", vt_json_integer(books->reserved_bytes));
	json_object_set_new(object, "allocated_bytes", vt_json_integer(books->allocated_bytes));
	json_object_set_new(object, "allocated_requested_bytes",
			    vt_json_integer(books->requested_bytes));
	json_object_set_new(object, "cached_bytes", vt_json_integer(books->cached_bytes));
	json_object_set_new(object, "cached_free_segments_bytes",
			    vt_json_integer(books->free_segment_bytes));
	json_object_set_new(object, "cached_pinned_bytes", vt_json_integer(books->pinned_bytes));
	json_object_set_new(object, "cached_pool_bytes", vt_json_integer(books->idle_pool_bytes));
	json_object_set_new(object, "cached_graph_memory_bytes",
			    vt_json_integer(books->idle_graph_bytes));
	json_object_set_new(object, "graph_pools_bytes", vt_json_integer(books->graph_pool_bytes));
	json_object_set_new(object, "context_bytes",
			    books->has_context ? vt_json_integer(books->context_bytes)
					       : json_null());
	json_object_set_new(object, "other_processes_bytes",
			    books->has_other ? vt_json_integer(books->other_bytes) : json_null());
	json_object_set_new(object, "difference_bytes", json_integer(books->difference_bytes));
	json_object_set_new(object, "owners", owners(books));
}
