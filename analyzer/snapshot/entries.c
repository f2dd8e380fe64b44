/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/entries.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* No address and no size reaches it: sums of two do not overflow. */
#define TOO_LARGE ((uint64_t)1 << 62)

const struct vt_snapshot_labels vt_snapshot_no_labels = { VT_VALUE_UNSET, VT_VALUE_UNSET,
							   VT_VALUE_UNSET, VT_VALUE_UNSET };

static const char *const keys[VT_SNAPSHOT_NR_KEYS] = {
	[VT_KEY_ACTION] = "action",
	[VT_KEY_ADDR] = "addr",
	[VT_KEY_SIZE] = "size",
	[VT_KEY_STREAM] = "stream",
	[VT_KEY_TIME] = "time_us",
	[VT_KEY_FRAMES] = "frames",
	[VT_KEY_FORWARD_FRAMES] = "forward_frames",
	[VT_KEY_METADATA] = "user_metadata",
	[VT_KEY_CATEGORY] = "category",
	[VT_KEY_OWNER] = "owner",
	[VT_KEY_REQUESTED] = "requested_size",
	[VT_KEY_COMPILE_CONTEXT] = "compile_context",
	[VT_KEY_DEVICE_FREE] = "device_free",
	[VT_KEY_POOL] = "pool_id",
};

static const char *const actions[VT_SNAPSHOT_NR_ACTIONS] = {
#define VT_SNAPSHOT_ACTION(name, text) text,
	VT_SNAPSHOT_ACTIONS(VT_SNAPSHOT_ACTION)
#undef VT_SNAPSHOT_ACTION
};

__attribute__((format(printf, 3, 4))) static int fail(const struct vt_snapshot_input *input,
						       struct vt_diag *diag, const char *fmt, ...)
{
	char text[200];
	va_list arguments;

	va_start(arguments, fmt);
	vsnprintf(text, sizeof(text), fmt, arguments);
	va_end(arguments);
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: not a snapshot that can be read: %s",
		    input->path, text);
	return -1;
}

int vt_snapshot_visit(struct vt_snapshot_input *input, uint64_t nr, struct vt_diag *diag)
{
	if (nr > input->visits_left)
		return fail(input, diag, "it refers to the same lists too often");
	input->visits_left -= nr;
	return 0;
}

static int take_list(struct vt_snapshot_input *input, const char *key, struct vt_value_list *list,
		     struct vt_diag *diag)
{
	vt_value value = vt_values_find(&input->values, input->root, key);

	if (value == VT_VALUE_UNSET || value == VT_VALUE_NONE)
		return 0;
	if (vt_value_type(value) != VT_VALUE_LIST)
		return fail(input, diag, "\"%s\" is not a list", key);
	*list = vt_values_items(&input->values, value);
	return 0;
}

/* Traces are walked side by side: the same one twice would be one too long. */
static int check_traces(struct vt_snapshot_input *input, struct vt_diag *diag)
{
	if (input->traces.len > VT_SNAPSHOT_MOST_DEVICES)
		return fail(input, diag, "traces of %u devices", input->traces.len);
	for (uint32_t i = 0; i < input->traces.len; i++) {
		vt_value trace = input->traces.items[i];

		if (vt_value_type(trace) != VT_VALUE_LIST)
			return fail(input, diag, "device_traces[%u] is not a list", i);
		for (uint32_t j = 0; j < i; j++)
			if (input->traces.items[j] == trace &&
			    vt_values_items(&input->values, trace).len)
				return fail(input, diag, "device_traces[%u] and [%u] are one list",
					    j, i);
	}
	return 0;
}

int vt_snapshot_input_init(struct vt_snapshot_input *input, struct vt_diag *diag)
{
	input->settings = VT_VALUE_UNSET;
	input->visits_left = 4096 + input->values.used_bytes;
	if (vt_value_type(input->root) == VT_VALUE_LIST) {
		input->segments = vt_values_items(&input->values, input->root);
		return 0;
	}
	if (vt_value_type(input->root) != VT_VALUE_DICT)
		return fail(input, diag, "it is not a dict");
	if (vt_values_find(&input->values, input->root, "segments") == VT_VALUE_UNSET &&
	    vt_values_find(&input->values, input->root, "device_traces") == VT_VALUE_UNSET)
		return fail(input, diag, "it has neither \"segments\" nor \"device_traces\"");
	input->settings = vt_values_find(&input->values, input->root, "allocator_settings");
	if (take_list(input, "segments", &input->segments, diag) ||
	    take_list(input, "device_traces", &input->traces, diag) ||
	    take_list(input, "external_annotations", &input->annotations, diag))
		return -1;
	return check_traces(input, diag);
}

struct vt_value_list vt_snapshot_trace(const struct vt_snapshot_input *input, uint32_t number)
{
	if (number >= input->traces.len)
		return (struct vt_value_list){ 0 };
	return vt_values_items(&input->values, input->traces.items[number]);
}

static void learn_shape(struct vt_snapshot_input *input, const struct vt_value_dict *dict,
			struct vt_snapshot_shape *shape)
{
	shape->keys = dict->keys;
	shape->len = dict->len;
	for (unsigned key = 0; key < VT_SNAPSHOT_NR_KEYS; key++) {
		shape->at[key] = UINT32_MAX;
		for (uint32_t i = 0; i < dict->len; i++)
			if (vt_values_is_text(&input->values, dict->keys[i], keys[key]))
				shape->at[key] = i;
	}
}

/* Dicts with the same keys share them: what is where is found out once. */
static const struct vt_snapshot_shape *shape_of(struct vt_snapshot_input *input,
						const struct vt_value_dict *dict)
{
	struct vt_snapshot_shape *first = &input->shapes[0];

	if (first->keys == dict->keys && first->len == dict->len)
		return first;
	if (input->shapes[1].keys != dict->keys || input->shapes[1].len != dict->len)
		learn_shape(input, dict, &input->shapes[1]);
	else {
		struct vt_snapshot_shape other = *first;

		*first = input->shapes[1];
		input->shapes[1] = other;
		return first;
	}
	return &input->shapes[1];
}

static enum vt_snapshot_action action_of(struct vt_snapshot_input *input, vt_value text)
{
	unsigned action;

	for (action = 0; action < VT_SNAPSHOT_OTHER; action++)
		if (input->actions[action] == text && text)
			return (enum vt_snapshot_action)action;
	for (action = 0; action < VT_SNAPSHOT_OTHER; action++)
		if (vt_values_is_text(&input->values, text, actions[action]))
			break;
	input->actions[action] = text;
	return (enum vt_snapshot_action)action;
}

/* 0 where there is none, TOO_LARGE where it cannot be a place or a size. */
static uint64_t bounded(const struct vt_snapshot_input *input, vt_value value)
{
	uint64_t number = 0;

	if (value == VT_VALUE_UNSET || value == VT_VALUE_NONE)
		return 0;
	if (vt_values_number(&input->values, value, &number) || number >= TOO_LARGE)
		return TOO_LARGE;
	return number;
}

static uint64_t plain(const struct vt_snapshot_input *input, vt_value value)
{
	uint64_t number = 0;

	return vt_values_number(&input->values, value, &number) ? 0 : number;
}

/* (0, 0): the usual pool.  Numbers count from 1; others are no pool's. */
static uint64_t pool_of(const struct vt_snapshot_input *input, vt_value value)
{
	const uint64_t most = (uint64_t)1 << VT_SNAPSHOT_POOL_BITS;
	struct vt_value_list pair = vt_values_items(&input->values, value);
	uint64_t first, second;

	if (pair.len != 2)
		return 0;
	first = plain(input, pair.items[0]);
	second = plain(input, pair.items[1]);
	return first < most && second < most ? first << VT_SNAPSHOT_POOL_BITS | second : 0;
}

int vt_snapshot_entry_read(struct vt_snapshot_input *input, uint32_t device, uint32_t index,
			   struct vt_snapshot_entry *entry, struct vt_diag *diag)
{
	struct vt_value_list trace = vt_snapshot_trace(input, device);
	const struct vt_value_dict *dict = vt_values_pairs(&input->values, trace.items[index]);
	const struct vt_snapshot_shape *shape;
	vt_value found[VT_SNAPSHOT_NR_KEYS];

	if (!dict)
		return fail(input, diag, "device_traces[%u][%u] is not a dict", device, index);
	if (vt_snapshot_visit(input, 1, diag))
		return -1;
	shape = shape_of(input, dict);
	for (unsigned key = 0; key < VT_SNAPSHOT_NR_KEYS; key++)
		found[key] = shape->at[key] < dict->len ? dict->values[shape->at[key]] :
							  VT_VALUE_UNSET;
	*entry = (struct vt_snapshot_entry){
		.action = action_of(input, found[VT_KEY_ACTION]),
		.index = index,
		.address = bounded(input, found[VT_KEY_ADDR]),
		.size_bytes = bounded(input, found[VT_KEY_SIZE]),
		.stream = plain(input, found[VT_KEY_STREAM]),
		.time_us = bounded(input, found[VT_KEY_TIME]),
		.device_free_bytes = bounded(input, found[VT_KEY_DEVICE_FREE]),
		.pool = pool_of(input, found[VT_KEY_POOL]),
		.frames = found[VT_KEY_FRAMES],
		.forward_frames = found[VT_KEY_FORWARD_FRAMES],
		.labels = { .category = found[VT_KEY_CATEGORY],
			    .owner = found[VT_KEY_OWNER],
			    .metadata = found[VT_KEY_METADATA],
			    .compile_context = found[VT_KEY_COMPILE_CONTEXT] },
	};
	entry->requested_bytes = found[VT_KEY_REQUESTED] == VT_VALUE_UNSET ?
					 entry->size_bytes :
					 bounded(input, found[VT_KEY_REQUESTED]);
	/* Nanoseconds are to fit. */
	if (entry->time_us >= TOO_LARGE / 1000)
		return fail(input, diag, "the time of device_traces[%u][%u]", device, index);
	if (entry->action == VT_SNAPSHOT_OTHER)
		return 0;
	if (entry->address == TOO_LARGE || entry->size_bytes == TOO_LARGE ||
	    entry->requested_bytes == TOO_LARGE || entry->device_free_bytes == TOO_LARGE)
		return fail(input, diag, "the address or size of device_traces[%u][%u]", device,
			    index);
	/* Before 2.6 it is in the place of the address. */
	if (entry->action == VT_SNAPSHOT_OOM && found[VT_KEY_DEVICE_FREE] == VT_VALUE_UNSET)
		entry->device_free_bytes = entry->address;
	return 0;
}

static vt_value get(const struct vt_snapshot_input *input, vt_value dict, const char *key)
{
	return vt_values_find(&input->values, dict, key);
}

int vt_snapshot_segment_read(struct vt_snapshot_input *input, uint32_t index,
			     struct vt_snapshot_segment *segment, struct vt_diag *diag)
{
	vt_value value = input->segments.items[index];
	uint64_t device = bounded(input, get(input, value, "device"));

	if (vt_value_type(value) != VT_VALUE_DICT)
		return fail(input, diag, "segments[%u] is not a dict", index);
	*segment = (struct vt_snapshot_segment){
		.device = (int)device,
		.address = bounded(input, get(input, value, "address")),
		.size_bytes = bounded(input, get(input, value, "total_size")),
		.stream = plain(input, get(input, value, "stream")),
		.pool = pool_of(input, get(input, value, "segment_pool_id")),
		.frames = get(input, value, "frames"),
		.blocks = vt_values_items(&input->values, get(input, value, "blocks")),
		.is_expandable = plain(input, get(input, value, "is_expandable")) != 0,
	};
	if (device >= VT_SNAPSHOT_MOST_DEVICES || segment->address == TOO_LARGE ||
	    segment->size_bytes == TOO_LARGE)
		return fail(input, diag, "the device, address or size of segments[%u]", index);
	return vt_snapshot_visit(input, 1 + (uint64_t)segment->blocks.len, diag);
}

static enum vt_snapshot_state state_of(const struct vt_snapshot_input *input, vt_value state)
{
	if (vt_values_is_text(&input->values, state, "active_allocated"))
		return VT_SNAPSHOT_ACTIVE;
	if (vt_values_is_text(&input->values, state, "active_pending_free") ||
	    vt_values_is_text(&input->values, state, "active_awaiting_free"))
		return VT_SNAPSHOT_PENDING;
	return VT_SNAPSHOT_FREE;
}

int vt_snapshot_block_read(struct vt_snapshot_input *input,
			   const struct vt_snapshot_segment *segment, uint32_t index,
			   uint64_t next_address, struct vt_snapshot_block *block,
			   struct vt_diag *diag)
{
	vt_value value = segment->blocks.items[index], address, requested;
	/* Until 2.0 the request and its stack are in a history of one entry. */
	struct vt_value_list history = vt_values_items(&input->values,
						       get(input, value, "history"));
	vt_value last = history.len ? history.items[0] : VT_VALUE_UNSET;

	if (vt_value_type(value) != VT_VALUE_DICT)
		return fail(input, diag, "a block of the segment at 0x%llx is not a dict",
			    (unsigned long long)segment->address);
	address = get(input, value, "address");
	requested = get(input, value, "requested_size");
	*block = (struct vt_snapshot_block){
		.address = address == VT_VALUE_UNSET ? next_address : bounded(input, address),
		.size_bytes = bounded(input, get(input, value, "size")),
		.requested_bytes = bounded(input, requested == VT_VALUE_UNSET ?
							  get(input, last, "real_size") :
							  requested),
		.frames = get(input, value, "frames"),
		.forward_frames = get(input, value, "forward_frames"),
		.labels = { .category = get(input, value, "category"),
			    .owner = get(input, value, "owner"),
			    .metadata = get(input, value, "user_metadata"),
			    .compile_context = VT_VALUE_UNSET },
		.state = state_of(input, get(input, value, "state")),
	};
	if (block->frames == VT_VALUE_UNSET)
		block->frames = get(input, last, "frames");
	if (block->address >= TOO_LARGE || block->size_bytes == TOO_LARGE ||
	    block->requested_bytes == TOO_LARGE)
		return fail(input, diag, "a block of the segment at 0x%llx",
			    (unsigned long long)segment->address);
	return 0;
}

void vt_snapshot_annotation_read(struct vt_snapshot_input *input, uint32_t index,
				 struct vt_snapshot_annotation *annotation)
{
	vt_value value = input->annotations.items[index], stage = get(input, value, "stage");

	annotation->time_us = bounded(input, get(input, value, "time_us"));
	annotation->name = get(input, value, "name");
	annotation->is_end = vt_values_is_text(&input->values, stage, "END") ? 1 :
			     vt_values_is_text(&input->values, stage, "START") ? 0 : -1;
	if (vt_value_type(annotation->name) != VT_VALUE_TEXT ||
	    annotation->time_us >= TOO_LARGE / 1000)
		annotation->is_end = -1;
}
