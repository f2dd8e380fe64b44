/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ALLOCATOR_SETTINGS_H
#define VT_ANALYZER_ALLOCATOR_SETTINGS_H

/* What a snapshot says of the settings of PyTorch's allocator ("allocator_settings"). */

#include "analyzer/replay/settings.h"
#include "analyzer/snapshot/entries.h"

/*
 * As they were in force, whether the environment or a call set them; the defaults where the
 * snapshot has none.
 */
void vt_allocator_settings_read(struct vt_settings *settings,
				const struct vt_snapshot_input *input);

#endif
