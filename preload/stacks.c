/* SPDX-License-Identifier: MIT */
#include "preload/stacks.h"

#include <stddef.h>
#include <string.h>

#include "preload/config.h"
#include "preload/ids.h"
#include "preload/journal.h"
#include "preload/modules.h"
#include "preload/native_stack.h"
#include "preload/unwind.h"

/*
 * Places for a million different stacks (24 bytes each, only touched pages cost memory); a training
 * run has some ten thousand.
 */
#define TABLE_BITS 21

static struct {
	struct vt_ids native;
	struct vt_ids python;
} g;

int vt_stacks_reset(void)
{
	int err;

	vt_modules_reset();
	err = vt_ids_reset(&g.native, TABLE_BITS);
	return err ? err : vt_ids_reset(&g.python, TABLE_BITS);
}

/* Writes a stack of either kind: both records are an id, a count and an array. */
static int write_stack(uint32_t id, const void *frames, uint32_t nr, size_t frame_bytes,
	enum vt_record_type type)
{
	struct vt_native_stack_record *record;
	size_t bytes = sizeof(*record) + nr * frame_bytes;
	uint64_t slot;

	_Static_assert(offsetof(struct vt_native_stack_record, frames) ==
		       offsetof(struct vt_python_stack_record, frames), "one writer for both");
	record = vt_journal_reserve(bytes, &slot);
	if (!record)
		return -1;
	record->id = id;
	record->nr_frames = nr;
	memcpy(record->frames, frames, nr * frame_bytes);
	vt_journal_commit(record, slot, bytes, type);
	return 0;
}

static uint32_t define(struct vt_ids *ids, const struct vt_key *key, const void *frames,
	uint32_t nr, size_t frame_bytes, enum vt_record_type type)
{
	uint32_t id = vt_ids_next(ids);

	if (write_stack(id, frames, nr, frame_bytes, type))
		return 0;
	vt_ids_publish(ids, key, id);
	return id;
}

/* As native_stack.c does, outermost frame first. */
static struct vt_key native_key(const uint64_t *frames, uint32_t nr)
{
	struct vt_key key = vt_ids_key_start();

	while (nr)
		key = vt_ids_key_push(key, frames[--nr]);
	return vt_ids_key_finish(key);
}

/*
 * The id of the remembered stack, or 0: *nr is how many frames were copied for the caller to
 * define, 0 where there is no such stack.
 */
static uint32_t find_remembered(uint64_t *frames, uint32_t most, uint32_t *nr)
{
	struct vt_native_stack *stack = vt_native_stack_enter(most);
	struct vt_key key;
	uint32_t id = 0;

	*nr = 0;
	if (!stack)
		return 0;
	id = *vt_native_stack_id(stack);
	if (!id && vt_native_stack_depth(stack)) {
		key = vt_native_stack_key(stack);
		id = vt_ids_find(&g.native, &key);
		*vt_native_stack_id(stack) = id;
	}
	if (!id) {
		*nr = vt_native_stack_depth(stack);
		vt_native_stack_copy(stack, frames);
	}
	vt_native_stack_leave(stack);
	return id;
}

uint32_t vt_stacks_native(void)
{
	uint64_t frames[VT_STACK_MAX_FRAMES + 1];
	uint32_t most = vt_config()->stacks, nr;
	int is_cut = 0, is_known;
	struct vt_key key;
	uint32_t id;

	if (!most)
		return 0;
	id = find_remembered(frames, most, &nr);
	if (id)
		return id;
	/* The way of a remembered one is known to its end. */
	is_known = nr != 0;
	if (!nr) {
		nr = vt_unwind_stack(frames, most, &is_cut);
		if (!nr)
			return 0;
		key = native_key(frames, nr);
		id = vt_ids_find(&g.native, &key);
		if (id)
			return id;
	}
	/*
	 * New: the objects it runs through may be new, or the unwinder's memory of some may be out
	 * of date.
	 */
	if (vt_modules_update()) {
		vt_unwind_flush();
		nr = vt_unwind_stack(frames, most, &is_cut);
		if (!nr)
			return 0;
		is_known = 0;
	}
	key = native_key(frames, nr);
	if (is_cut || (!is_known && !vt_unwind_is_whole()))
		frames[nr++] = VT_STACK_CUT;
	return define(&g.native, &key, frames, nr, sizeof(frames[0]), VT_RECORD_NATIVE_STACK);
}

uint32_t vt_stacks_find_python(const struct vt_key *key)
{
	return vt_ids_find(&g.python, key);
}

uint32_t vt_stacks_intern_python(const struct vt_key *key, const struct vt_python_frame *frames,
				 unsigned int nr)
{
	uint32_t id = vt_ids_find(&g.python, key);

	if (id)
		return id;
	/* Code that did not fit: none rather than a stack with a hole in it, for ever. */
	for (unsigned int i = 0; i < nr; i++)
		if (!frames[i].code)
			return 0;
	return define(&g.python, key, frames, nr, sizeof(frames[0]), VT_RECORD_PYTHON_STACK);
}
