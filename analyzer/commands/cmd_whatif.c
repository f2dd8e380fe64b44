/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/numbers.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/report/whatif.h"
#include "common/size.h"

enum {
	OPTION_EXPANDABLE = 256,
	OPTION_MAX_SPLIT,
	OPTION_GC,
	OPTION_FRACTION,
	OPTION_ROUNDUP,
	OPTION_LARGE_SEGMENT,
	OPTION_SETTINGS,
	OPTION_MEMORY,
	OPTION_WITHOUT,
	OPTION_SCALE,
	OPTION_BATCH,
	OPTION_WAS,
};

static const struct vt_option options[] = {
	{ OPTION_EXPANDABLE, "expandable", NULL, "with expandable_segments:True" },
	{ OPTION_MAX_SPLIT, "max-split", "MIB", "with max_split_size_mb" },
	{ OPTION_GC, "gc", "PART", "with garbage_collection_threshold (needs a memory fraction)" },
	{ OPTION_FRACTION, "fraction", "PART", "with per_process_memory_fraction" },
	{ OPTION_ROUNDUP, "roundup", "N", "with roundup_power2_divisions, N or [MIB:N,...,>:N]" },
	{ OPTION_LARGE_SEGMENT, "large-segment", "MIB", "with large_segment_size_mb" },
	{ OPTION_SETTINGS, "settings", "TEXT",
	  "replay with this PYTORCH_CUDA_ALLOC_CONF (default: the recorded one)" },
	{ OPTION_MEMORY, "memory", "SIZE", "on a device of this size" },
	{ OPTION_WITHOUT, "without", "OWNER", "without the blocks of this owner" },
	{ OPTION_SCALE, "scale", "OWNER=FACTOR", "with the blocks of OWNER scaled by FACTOR" },
	{ OPTION_BATCH, "batch", "xN", "with a batch N times as large, or of N rows" },
	{ OPTION_WAS, "was", "BxS", "the recorded batch (default: from the inputs)" },
	VT_VIEW_REPLAY_OPTIONS,
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "whatif",
	.synopsis = "[OPTION...] FILE",
	.summary = "Replays a recorded run with other allocator settings, batch or sizes.",
	.options = options,
};

VT_VECTOR_DECLARE(scales, struct vt_whatif_scale);

struct wanted {
	struct vt_whatif_options whatif;
	struct vt_buffer changes;
	struct scales scales;
};

static const struct {
	int option;
	const char *key;
} keys[] = {
	{ OPTION_MAX_SPLIT, "max_split_size_mb" },
	{ OPTION_GC, "garbage_collection_threshold" },
	{ OPTION_FRACTION, "per_process_memory_fraction" },
	{ OPTION_ROUNDUP, "roundup_power2_divisions" },
	{ OPTION_LARGE_SEGMENT, "large_segment_size_mb" },
};

static void add_change(struct wanted *wanted, const char *key, const char *value)
{
	vt_buffer_printf(&wanted->changes, "%s%s:%s", wanted->changes.len ? "," : "", key, value);
}

static int add_scale(struct wanted *wanted, char *text)
{
	struct vt_whatif_scale scale = { .owner = text };
	char *equals = strrchr(text, '='), *end;

	if (equals) {
		*equals = 0;
		scale.factor = strtod(equals + 1, &end);
	}
	if (!equals || equals == text || end == equals + 1 || *end || !isfinite(scale.factor) ||
	    scale.factor < 0)
		return vt_options_wrong(&spec, "--scale takes OWNER=FACTOR");
	vt_vector_push(&wanted->scales, scale);
	return 0;
}

/* "x2": times the recorded one; "8": rows. */
static int take_batch(struct vt_whatif_options *whatif, const char *text)
{
	int64_t rows;
	char *end;

	whatif->batch = 0;
	whatif->batch_times = 0;
	if (*text == 'x') {
		whatif->batch_times = strtod(text + 1, &end);
		if (end > text + 1 && !*end && isfinite(whatif->batch_times) &&
		    whatif->batch_times > 0)
			return 0;
	} else if (!vt_numbers_parse(text, UINT32_MAX, &rows) && rows > 0) {
		whatif->batch = (uint64_t)rows;
		return 0;
	}
	return vt_options_wrong(&spec, "--batch takes xN, or a number of rows");
}

static int take_option(struct wanted *wanted, int id)
{
	struct vt_whatif_scale left_out = { .owner = optarg };

	for (size_t i = 0; i < VT_ARRAY_SIZE(keys); i++)
		if (keys[i].option == id)
			add_change(wanted, keys[i].key, optarg);
	switch (id) {
	case OPTION_EXPANDABLE:
		add_change(wanted, "expandable_segments", "True");
		return 0;
	case OPTION_SETTINGS:
		wanted->whatif.settings = optarg;
		return 0;
	case OPTION_MEMORY:
		if (vt_size_parse(optarg, &wanted->whatif.memory_bytes) ||
		    !wanted->whatif.memory_bytes)
			return vt_options_wrong(&spec, "\"%s\" is not a device size such as 24GiB",
						optarg);
		return 0;
	case OPTION_WITHOUT:
		if (!*optarg)
			return vt_options_wrong(&spec, "--without takes an owner");
		vt_vector_push(&wanted->scales, left_out);
		return 0;
	case OPTION_SCALE:
		return add_scale(wanted, optarg);
	case OPTION_BATCH:
		return take_batch(&wanted->whatif, optarg);
	case OPTION_WAS:
		if (vt_scaling_size_parse(&wanted->whatif.was, optarg))
			return vt_options_wrong(&spec, "--was takes rows and tokens, as 8x512");
		return 0;
	default:
		return 0;
	}
}

static void begin(struct vt_analysis *analysis, const struct vt_view *view, const void *nothing)
{
	(void)nothing;
	vt_whatif_prepare(analysis, view->device);
}

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *pointer,
		struct vt_diag *diag)
{
	const struct wanted *wanted = pointer;
	struct vt_whatif_options asked = wanted->whatif;
	struct vt_whatif whatif;
	int rc;

	asked.device = view->device;
	asked.changes = wanted->changes.data;
	asked.scales = wanted->scales.items;
	asked.nr_scales = wanted->scales.len;
	rc = vt_whatif_init(&whatif, analysis, &asked, diag);
	if (!rc && view->is_json)
		vt_whatif_print_json(&whatif, stdout);
	else if (!rc)
		vt_whatif_print_text(&whatif, stdout);
	vt_whatif_release(&whatif);
	return rc;
}

static int has_batch(const struct vt_whatif_options *whatif)
{
	return whatif->batch || whatif->batch_times != 0;
}

int vt_cmd_whatif(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	struct wanted wanted = { 0 };
	int id, rc = 0;

	view.begin = begin;
	vt_buffer_init(&wanted.changes);
	while (!rc && (id = vt_view_next(&view, &spec, argc, argv)) > 0)
		rc = take_option(&wanted, id);
	view.is_without_owners = !wanted.scales.len && !has_batch(&wanted.whatif);
	if (!rc && id == 0 && wanted.whatif.was.batch && !has_batch(&wanted.whatif))
		rc = vt_options_wrong(&spec, "--was only applies with --batch");
	if (!rc)
		rc = id < 0 ? vt_options_exit_code(id) : vt_view_show(&view, show, &wanted);
	vt_buffer_release(&wanted.changes);
	vt_vector_release(&wanted.scales);
	return rc;
}
