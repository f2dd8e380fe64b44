/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CONFIG_STYLE_H
#define VT_ANALYZER_CONFIG_STYLE_H

/*
 * How a stack is made beside its sizes: biases, norms, activation, dropout, head.
 */

#include "analyzer/planner/config_values.h"
#include "analyzer/planner/tensors.h"

void vt_config_style(const struct vt_config_values *v, struct vt_stack *s,
		     struct vt_tensor_style *style);

/* What stands behind the last layer: by the class that "architectures" names, else the family. */
void vt_config_head(const struct vt_config_values *v, struct vt_stack *s,
		    struct vt_tensor_style *style);

/* Whether that class has one, for words or tokens. */
int vt_config_has_head(const struct vt_config_values *v, const char *class);

/* Whether the class that the configuration names predicts the next token. */
int vt_config_is_causal(const struct vt_config_values *v);

#endif
