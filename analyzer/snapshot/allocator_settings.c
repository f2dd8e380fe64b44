/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/allocator_settings.h"

#include <stdio.h>

static vt_value find(const struct vt_snapshot_input *input, const char *key)
{
	return vt_values_find(&input->values, input->settings, key);
}

/* {"1": 4, "2": 4, ...}: by powers of two of MiB. */
static void read_divisions(struct vt_settings *settings, const struct vt_snapshot_input *input)
{
	vt_value divisions = find(input, "roundup_power2_divisions");

	for (unsigned i = 0; i < VT_SETTINGS_INTERVALS; i++) {
		char key[16];
		uint64_t number;

		snprintf(key, sizeof(key), "%u", 1u << i);
		if (!vt_values_number(&input->values,
				      vt_values_find(&input->values, divisions, key), &number) &&
		    number <= 64 && (number & (number - 1)) == 0)
			settings->divisions[i] = (uint32_t)number;
	}
}

void vt_allocator_settings_read(struct vt_settings *settings,
				const struct vt_snapshot_input *input)
{
	const struct vt_values *values = &input->values;
	uint64_t number, len;
	vt_value text = find(input, "PYTORCH_CUDA_ALLOC_CONF");
	const char *bytes = vt_values_bytes(values, text, &len);
	double threshold;

	vt_settings_init(settings, NULL);
	if (bytes && len) {
		char *copy = vt_xstrndup(bytes, len);

		/* What no key says; of a text that cannot be read, as much as can. */
		vt_settings_parse(settings, copy, NULL);
		free(copy);
	}
	if (!vt_values_number(values, find(input, "max_split_size"), &number))
		settings->max_split_bytes = (int64_t)number > 0 ? number : VT_SETTINGS_UNLIMITED;
	if (!vt_values_number(values, find(input, "expandable_segments"), &number))
		settings->is_expandable = number != 0;
	if (!vt_values_double(values, find(input, "garbage_collection_threshold"), &threshold) &&
	    threshold > 0 && threshold < 1)
		settings->gc_threshold = threshold;
	read_divisions(settings, input);
}
