/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/labels.h"

#include <string.h>

static int fail(struct vt_writer *writer, struct vt_diag *diag)
{
	vt_db_diag(writer->db, diag);
	return -1;
}

/* "weights/layers.0.weight" goes on behind "weights"; 0: it does not. */
static int find_rest(struct vt_snapshot_stacks *stacks, const struct vt_snapshot_labels *labels,
		     uint32_t *id)
{
	struct vt_values *values = &stacks->input->values;
	size_t owner_len, len;
	const char *owner = vt_values_bytes(values, labels->owner, &owner_len);
	const char *path = vt_values_bytes(values, labels->metadata, &len);

	*id = 0;
	if (!path || len < owner_len + 2 || memcmp(path, owner, owner_len) != 0 ||
	    path[owner_len] != '/')
		return 0;
	return vt_snapshot_stacks_string(
		stacks, vt_values_text(values, path + owner_len + 1, len - owner_len - 1), id);
}

int vt_snapshot_labels_write(const struct vt_snapshot_labels *labels,
			     struct vt_snapshot_stacks *stacks, struct vt_writer *writer,
			     const struct vt_event_record *block, struct vt_diag *diag)
{
	struct vt_tensor_record tensor = { .device = block->device,
					   .address = block->address,
					   .size_bytes = block->size_bytes,
					   .role = VT_ROLE_STATED };

	if (vt_snapshot_stacks_string(stacks, labels->owner, &tensor.holder))
		return fail(writer, diag);
	if (tensor.holder) {
		if (find_rest(stacks, labels, &tensor.name))
			return fail(writer, diag);
		return vt_writer_tensor(writer, &tensor, diag);
	}
	tensor.role = VT_ROLE_CATEGORY;
	if (vt_snapshot_stacks_string(stacks, labels->category, &tensor.name))
		return fail(writer, diag);
	return tensor.name ? vt_writer_tensor(writer, &tensor, diag) : 0;
}

int vt_snapshot_labels_annotate(const struct vt_snapshot_entry *entry,
				struct vt_snapshot_stacks *stacks, struct vt_writer *writer,
				int device, struct vt_diag *diag)
{
	struct vt_tensor_record tensor = { .device = device,
					   .address = entry->address,
					   .size_bytes = entry->size_bytes,
					   .role = VT_ROLE_VARIABLE };

	if (vt_snapshot_stacks_string(stacks, entry->labels.metadata, &tensor.name))
		return fail(writer, diag);
	return tensor.name ? vt_writer_tensor(writer, &tensor, diag) : 0;
}

int vt_snapshot_labels_scope(const struct vt_snapshot_labels *labels,
			     struct vt_snapshot_stacks *stacks, uint32_t annotation,
			     uint32_t *scope)
{
	struct vt_values *values = &stacks->input->values;

	*scope = annotation;
	/* vtrace writes an owner there. */
	if (vt_value_type(labels->owner) != VT_VALUE_TEXT &&
	    vt_value_type(labels->metadata) == VT_VALUE_TEXT &&
	    !vt_values_is_text(values, labels->metadata, ""))
		return vt_snapshot_stacks_string(stacks, labels->metadata, scope);
	if (!annotation && !vt_values_is_text(values, labels->compile_context, "N/A"))
		return vt_snapshot_stacks_string(stacks, labels->compile_context, scope);
	return 0;
}
