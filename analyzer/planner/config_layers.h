/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CONFIG_LAYERS_H
#define VT_ANALYZER_CONFIG_LAYERS_H

/*
 * Which layers of a stack have attention, which a state-space mixer, which an mlp, which experts.
 */

#include "analyzer/planner/config_values.h"
#include "analyzer/planner/tensors.h"

/* Wants s->hidden; fills in the counts of layers by kind and the sizes of mixers. */
void vt_config_layers(const struct vt_config_values *v, struct vt_stack *s,
		      struct vt_tensor_style *style);

/* The first word of a list of layers that names none that is planned, NULL: each does. */
const char *vt_config_layers_unknown(const struct vt_config_values *v);

#endif
