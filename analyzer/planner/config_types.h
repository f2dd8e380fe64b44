/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CONFIG_TYPES_H
#define VT_ANALYZER_CONFIG_TYPES_H

/*
 * The type of a configuration's weights, and what it says of types that no plan takes from it.
 */

#include <jansson.h>

#include "analyzer/planner/architecture.h"

/* Sets `dtype`, and adds to the note: a type that is none of ours, quantization_config. */
void vt_config_types(struct vt_architecture *model, const json_t *config);

#endif
