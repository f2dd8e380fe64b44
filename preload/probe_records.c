/* SPDX-License-Identifier: MIT */
#include "preload/probe_records.h"

#include <string.h>

#include "common/journal_format.h"
#include "preload/ids.h"
#include "preload/intern.h"
#include "preload/journal.h"
#include "preload/probe_known.h"
#include "preload/thread_state.h"

static struct {
	uint32_t generation;	/* the recording that the numbers belong to */
	uint32_t probe;
	uint32_t nr_tensors;
} g;

int vt_probe_records_begin(void)
{
	int err = vt_probe_known_begin();

	if (err)
		return err;
	if (g.generation != vt_thread_generation())
		g.probe = 0;
	g.generation = vt_thread_generation();
	g.nr_tensors = 0;
	return (int)++g.probe;
}

static uint64_t hash_text(const struct vt_probe_text *text)
{
	return vt_ids_key(text->bytes, text->len).high;
}

static uint32_t intern(const struct vt_probe_text *text)
{
	return vt_intern_name(text->bytes, text->len);
}

static struct vt_key tensor_key(const struct vt_probe_tensor *tensor)
{
	const uint64_t words[4] = { tensor->address, tensor->role, hash_text(&tensor->name),
				    hash_text(&tensor->holder) };

	return vt_ids_key(words, sizeof(words));
}

int vt_probe_records_has_tensor(const struct vt_probe_tensor *tensor)
{
	const struct vt_key key = tensor_key(tensor);

	return vt_probe_known_has_tensor(tensor->address, &key);
}

void vt_probe_records_tensor(const struct vt_probe_tensor *tensor)
{
	const struct vt_key key = tensor_key(tensor);
	struct vt_tensor_record record = {
		.probe = g.probe,
		.device = tensor->device,
		.address = tensor->address,
		.size_bytes = tensor->size_bytes,
		.role = tensor->role,
		.flags = tensor->flags,
		.name = intern(&tensor->name),
		.holder = intern(&tensor->holder),
		.dtype = intern(&tensor->dtype),
		.shape = intern(&tensor->shape),
	};

	if (vt_journal_append(&record, sizeof(record), VT_RECORD_TENSOR))
		return;
	vt_probe_known_keep_tensor(&key);
	g.nr_tensors++;
}

int vt_probe_records_was_seen(uint64_t address)
{
	static const char what[8] = "seen";
	uint64_t words[2] = { address, 0 };
	struct vt_key key;

	memcpy(&words[1], what, sizeof(what));
	key = vt_ids_key(words, sizeof(words));
	if (vt_probe_known_has_tensor(address, &key))
		return 1;
	vt_probe_known_keep_tensor(&key);
	return 0;
}

void vt_probe_records_module(const struct vt_probe_module *module)
{
	const uint64_t words[4] = { module->root_address, hash_text(&module->class_name),
				    hash_text(&module->name), hash_text(&module->holder) };
	const struct vt_key key = vt_ids_key(words, sizeof(words));
	struct vt_torch_module_record record = {
		.address = module->address,
		.probe = g.probe,
		.root_address = module->root_address,
	};

	if (!vt_journal_is_recording() || vt_probe_known_is_last(module->address, &key))
		return;
	record.class_name = intern(&module->class_name);
	record.name = intern(&module->name);
	record.holder = intern(&module->holder);
	if (!vt_journal_append(&record, sizeof(record), VT_RECORD_TORCH_MODULE))
		vt_probe_known_keep_last(module->address, &key);
}

int vt_probe_records_has_source(uint32_t kind, const struct vt_probe_text *file)
{
	return vt_probe_known_has_place(hash_text(file) ^ kind);
}

/* The bytes of as many whole lines as fit: half a line of a map would name another place. */
static size_t whole_lines(const struct vt_probe_text *text, size_t most)
{
	size_t len = most;

	if (text->len <= most)
		return text->len;
	while (len && text->bytes[len - 1] != '\n')
		len--;
	return len;
}

void vt_probe_records_source(uint32_t kind, const struct vt_probe_text *file,
			     const struct vt_probe_text *text)
{
	const uint64_t words[2] = { hash_text(text), kind };
	const struct vt_key key = vt_ids_key(words, sizeof(words));
	struct vt_source_record *record;
	size_t len, bytes = sizeof(*record) + file->len;
	uint64_t slot;

	if (!vt_journal_is_recording() || bytes > VT_RECORD_MAX_BYTES ||
	    vt_probe_known_is_last(hash_text(file) ^ kind, &key))
		return;
	len = whole_lines(text, VT_RECORD_MAX_BYTES - bytes);
	record = vt_journal_reserve(bytes + len, &slot);
	if (!record)
		return;
	record->kind = kind;
	record->part = 0;
	record->file_len = (uint32_t)file->len;
	record->text_len = (uint32_t)len;
	memcpy(record->bytes, file->bytes, file->len);
	memcpy(record->bytes + file->len, text->bytes, len);
	vt_journal_commit(record, slot, bytes + len, VT_RECORD_SOURCE);
	vt_probe_known_keep_last(hash_text(file) ^ kind, &key);
}

void vt_probe_records_end(uint64_t start_ns, uint64_t duration_ns, const char *reason)
{
	struct vt_probe_record record = {
		.time_ns = start_ns,
		.duration_ns = duration_ns,
		.probe = g.probe,
		.thread = vt_thread_id(),
		.reason = vt_intern_name(reason, strlen(reason)),
		.nr_tensors = g.nr_tensors,
	};

	vt_journal_append(&record, sizeof(record), VT_RECORD_PROBE);
	vt_probe_known_end();
}
