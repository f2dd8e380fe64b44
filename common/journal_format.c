/* SPDX-License-Identifier: MIT */
#include "common/journal_format.h"

#include <string.h>

uint32_t vt_record_sum(const struct vt_record *record)
{
	const unsigned char *bytes = (const unsigned char *)record;
	size_t len = vt_record_bytes(record);
	uint64_t hash = 0x9e3779b97f4a7c15ull;
	uint64_t word;

	/* The first word holds commit and sum themselves. */
	for (size_t at = 8; at < len; at += 8) {
		memcpy(&word, bytes + at, 8);
		hash = (hash ^ word) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	return (uint32_t)(hash ^ hash >> 29);
}

int vt_record_is_valid(const struct vt_record *record, uint64_t slot, uint64_t available_slots)
{
	uint64_t left_in_chunk = VT_CHUNK_SLOTS - slot % VT_CHUNK_SLOTS;

	if (!available_slots || record->commit != vt_record_commit(slot))
		return 0;
	if (!record->nr_slots || record->nr_slots > available_slots ||
	    record->nr_slots > left_in_chunk)
		return 0;
	/* A pad may be long and says nothing: only its head counts. */
	if (record->type == VT_RECORD_PAD)
		return 1;
	if (vt_record_bytes(record) > VT_RECORD_MAX_BYTES)
		return 0;
	return record->sum == vt_record_sum(record);
}

/* The bytes that a record claims with its lengths and counts; 0 for a type that we do not know. */
static uint64_t claimed_bytes(const struct vt_record *record)
{
	const void *p = record;

	/* No default: the compiler names a type that has no case here. */
	switch ((enum vt_record_type)record->type) {
	case VT_RECORD_PAD:
		return sizeof(struct vt_record);
	case VT_RECORD_INFO: {
		const struct vt_info_record *r = p;
		return sizeof(*r) + (uint64_t)r->key_len + r->value_len;
	}
	case VT_RECORD_STRING: {
		const struct vt_string_record *r = p;
		return sizeof(*r) + (uint64_t)r->len;
	}
	case VT_RECORD_MODULE: {
		const struct vt_module_record *r = p;
		return sizeof(*r) + (uint64_t)r->build_id_len + r->path_len;
	}
	case VT_RECORD_NATIVE_STACK: {
		const struct vt_native_stack_record *r = p;
		return sizeof(*r) + (uint64_t)r->nr_frames * sizeof(r->frames[0]);
	}
	case VT_RECORD_PYTHON_CODE: {
		const struct vt_python_code_record *r = p;
		return sizeof(*r) + (uint64_t)r->file_len + r->name_len + r->table_len;
	}
	case VT_RECORD_PYTHON_STACK: {
		const struct vt_python_stack_record *r = p;
		return sizeof(*r) + (uint64_t)r->nr_frames * sizeof(r->frames[0]);
	}
	case VT_RECORD_DEVICE: {
		const struct vt_device_record *r = p;
		return sizeof(*r) + (uint64_t)r->name_len;
	}
	case VT_RECORD_OPERATOR: {
		const struct vt_operator_record *r = p;
		return sizeof(*r) + (uint64_t)r->nr_tensors * sizeof(r->tensors[0]);
	}
	case VT_RECORD_OPERATOR_END: {
		const struct vt_operator_end_record *r = p;
		return sizeof(*r) + (uint64_t)r->nr_tensors * sizeof(r->tensors[0]);
	}
	case VT_RECORD_EVENT:
		return sizeof(struct vt_event_record);
	case VT_RECORD_MARK:
		return sizeof(struct vt_mark_record);
	case VT_RECORD_PROBE:
		return sizeof(struct vt_probe_record);
	case VT_RECORD_TENSOR:
		return sizeof(struct vt_tensor_record);
	case VT_RECORD_TORCH_MODULE:
		return sizeof(struct vt_torch_module_record);
	case VT_RECORD_SOURCE: {
		const struct vt_source_record *r = p;
		return sizeof(*r) + (uint64_t)r->file_len + r->text_len;
	}
	}
	return 0;
}

int vt_record_is_sound(const struct vt_record *record)
{
	return claimed_bytes(record) <= vt_record_bytes(record);
}

enum vt_journal_refusal vt_journal_check(const void *bytes, size_t len)
{
	struct vt_journal_header header;

	if (len < sizeof(header))
		return VT_JOURNAL_EMPTY;
	memcpy(&header, bytes, sizeof(header));
	if (header.magic == 0 && header.version == 0)
		return VT_JOURNAL_EMPTY;
	if (header.magic != VT_JOURNAL_MAGIC)
		return VT_JOURNAL_FOREIGN;
	if (header.minimum_reader > VT_JOURNAL_VERSION)
		return VT_JOURNAL_NEWER;
	if (header.header_bytes != VT_JOURNAL_HEADER_BYTES || header.slot_bytes != VT_SLOT_BYTES ||
	    header.chunk_bytes != VT_CHUNK_BYTES)
		return VT_JOURNAL_DAMAGED;
	return VT_JOURNAL_OK;
}
