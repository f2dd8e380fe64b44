/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/causes.h"

#include <string.h>

/* Functions of CUDACachingAllocator.cpp, the inner ones first: all but one are also in a malloc. */
static const struct {
	const char *part;
	enum vt_cause cause;
} native_names[] = {
	{ "::garbage_collect_cached_blocks(", VT_CAUSE_COLLECTION },
	{ "::emptyCache(", VT_CAUSE_EMPTY_CACHE },
	{ "DeviceCachingAllocator::malloc(", VT_CAUSE_REQUEST },
};

static enum vt_cause cause_of_symbol(const char *symbol)
{
	for (size_t i = 0; symbol && i < sizeof(native_names) / sizeof(native_names[0]); i++)
		if (strstr(symbol, native_names[i].part))
			return native_names[i].cause;
	return VT_CAUSE_UNKNOWN;
}

enum vt_cause vt_causes_find(const struct vt_model *model, uint32_t native_stack,
			     uint32_t python_stack)
{
	const struct vt_frames *frames = &model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_native(frames, native_stack, ids);
	enum vt_cause cause = VT_CAUSE_UNKNOWN;

	for (unsigned i = 0; i < nr && cause == VT_CAUSE_UNKNOWN; i++)
		cause = cause_of_symbol(frames->native[ids[i]].symbol);
	if (cause != VT_CAUSE_UNKNOWN)
		return cause;
	nr = vt_frames_python(frames, python_stack, ids);
	if (nr && !strcmp(vt_frames_code(frames, ids[0])->short_name, "empty_cache"))
		return VT_CAUSE_EMPTY_CACHE;
	return VT_CAUSE_UNKNOWN;
}
