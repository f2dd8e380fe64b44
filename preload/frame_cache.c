/* SPDX-License-Identifier: MIT */
#include "preload/frame_cache.h"

#include <stddef.h>

#include "preload/python_code.h"
#include "preload/python_frame.h"
#include "preload/python_read.h"
#include "preload/python_self.h"

/* Entry frames between two frames with code: more than a few are damage. */
#define MOST_CODELESS 64

/* An object of no type, for frames without a first argument. */
static const uint64_t nothing[8];

static int is_codeless(const struct vt_python_abi *abi, const void *frame)
{
	return abi->frame_owner &&
	       ((const unsigned char *)frame)[abi->frame_owner] >= VT_PYTHON_FIRST_CODELESS_OWNER;
}

/* Notes one more word.  Where it is full, the level has to be looked at each time. */
static void add(struct vt_frame_cache_entry *level, const void *base, uint64_t at)
{
	if (level->nr_extras < VT_FRAME_CACHE_EXTRAS)
		level->extras[level->nr_extras++] = vt_watch_of(base, at);
	else
		vt_frame_cache_spoil(level);
}

static const void *untagged(uint64_t reference)
{
	return (const void *)(uintptr_t)(reference & ~(uint64_t)VT_PYTHON_REFERENCE_TAG);
}

static void look_at_self(const struct vt_python *python, struct vt_code_cache *known,
			 const void *code, struct vt_frame_cache_entry *level)
{
	const struct vt_python_abi *abi = &python->abi;
	const struct vt_python_self self = vt_python_self_read(python, level->frame, code);
	const void *cell;

	level->local_at = abi->frame_locals;
	level->local = vt_watch_read((const char *)level->frame + abi->frame_locals);
	if (self.where == VT_PYTHON_SELF_CELL) {
		cell = untagged(level->local);
		add(level, cell, abi->object_type);
		add(level, cell, abi->cell_content);
	}
	if (self.type) {
		level->object = self.object;
		level->type = (uint64_t)(uintptr_t)self.type;
		level->kind = vt_python_self_look(abi, known, self.type);
		level->kind_version = level->kind->head.version;
		level->found.self_type = level->kind->name;
	}
	if (level->found.self_type)
		level->found.self_address = (uint64_t)(uintptr_t)self.object;
	if (self.where == VT_PYTHON_SELF_MOVED || (self.object && !self.type) ||
	    (level->kind && level->kind->is_lost))
		vt_frame_cache_spoil(level);
}

/* Finds the next frame with code outwards, and notes what that depends on. */
static void look_outwards(const struct vt_python_abi *abi, const void *frame,
			  struct vt_frame_cache_entry *level)
{
	const void *outer = vt_python_read_pointer(frame, abi->frame_previous);

	level->previous = (uint64_t)(uintptr_t)outer;
	for (int i = 0; outer && is_codeless(abi, outer) && i < MOST_CODELESS; i++) {
		/* The word that the owner is in: nothing else in it changes in such a frame. */
		add(level, outer, abi->frame_owner & ~(sizeof(uint64_t) - 1));
		add(level, outer, abi->frame_previous);
		outer = vt_python_read_pointer(outer, abi->frame_previous);
	}
	level->outer = outer;
}

int vt_frame_cache_look(const struct vt_python *python, struct vt_code_cache *known,
			 const void *frame, struct vt_frame_cache_entry *level)
{
	const struct vt_python_abi *abi = &python->abi;
	const void *code = vt_python_frame_code(python, frame);

	*level = (struct vt_frame_cache_entry){
		.frame = frame,
		.code = vt_watch_read((const char *)frame + abi->frame_code),
		.instruction = vt_watch_read((const char *)frame + abi->frame_instruction),
		.object = nothing,
		.local_at = abi->frame_code,
	};
	level->local = level->code;
	if (!code) {
		level->outer = vt_python_read_pointer(frame, abi->frame_previous);
		vt_frame_cache_spoil(level);
		return 0;
	}
	level->what = vt_python_code_look(abi, known, code);
	level->what_version = level->what->head.version;
	level->found.code = level->what->id;
	level->found.instruction_bytes = vt_python_frame_instruction(abi, frame, code);
	if (level->what->nr_arguments > 0)
		look_at_self(python, known, code, level);
	if (level->what->is_call)
		level->own_call = level->found.self_address;
	look_outwards(abi, frame, level);
	/* The next time there may be room for the code: it is asked for only where one looks. */
	if (!level->found.code)
		vt_frame_cache_spoil(level);
	return 1;
}

/* Each of these leads to the next: nothing is read behind a pointer that is another. */
uint32_t vt_frame_cache_compare(const struct vt_python_abi *abi,
				 const struct vt_frame_cache_entry *level, uint32_t nr)
{
	const size_t code = abi->frame_code, instruction = abi->frame_instruction;
	const size_t previous = abi->frame_previous, type = abi->object_type;
	const struct vt_frame_cache_entry *const first = level, *const end = level - nr;

	for (; level != end; level--) {
		const char *frame = level->frame;

		/* All of one frame, which is there: one branch for the four. */
		if ((vt_watch_read(frame + code) ^ level->code) |
		    (vt_watch_read(frame + instruction) ^ level->instruction) |
		    (vt_watch_read(frame + previous) ^ level->previous) |
		    (vt_watch_read(frame + level->local_at) ^ level->local))
			break;
		if (level->nr_extras && !vt_watch_are_same(level->extras, level->nr_extras))
			break;
		if (vt_watch_read((const char *)level->object + type) != level->type)
			break;
	}
	return (uint32_t)(first - level);
}

/*
 * Numbers and tensors come and go as first arguments; a stack names modules and optimizers only.
 * In a cell it is no such argument.
 */
static int takes_other_argument(const struct vt_python_abi *abi, struct vt_frame_cache_entry *level)
{
	const char *frame = level->frame;
	uint64_t local = vt_watch_read(frame + level->local_at);
	const void *object = untagged(local);

	if (!level->kind || level->found.self_type || level->object != untagged(level->local) ||
	    !object || vt_watch_read((const char *)object + abi->object_type) != level->type)
		return 0;
	level->local = local;
	level->object = object;
	return 1;
}

static int is_where_it_was(const struct vt_python_abi *abi, struct vt_frame_cache_entry *level)
{
	const char *frame = level->frame;

	if (vt_watch_read(frame + abi->frame_code) != level->code ||
	    vt_watch_read(frame + abi->frame_instruction) != level->instruction ||
	    vt_watch_read(frame + abi->frame_previous) != level->previous)
		return 0;
	if (vt_watch_read(frame + level->local_at) != level->local &&
	    !takes_other_argument(abi, level))
		return 0;
	return vt_watch_are_same(level->extras, level->nr_extras) &&
	       vt_watch_read((const char *)level->object + abi->object_type) == level->type;
}

int vt_frame_cache_renew(const struct vt_python_abi *abi, const struct vt_code_cache *known,
			  struct vt_frame_cache_entry *level)
{
	return is_where_it_was(abi, level) &&
	       vt_code_cache_is_version(known, &level->what->head, level->what_version) &&
	       (!level->kind ||
		vt_code_cache_is_version(known, &level->kind->head, level->kind_version));
}
