/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIND_GRAPHS_H
#define VT_ANALYZER_FIND_GRAPHS_H

/*
 * Findings about autograd graphs that no backward pass used: validation or inference outside of
 * torch.no_grad().
 */

#include "analyzer/diagnosis/finding_context.h"

void vt_find_graphs_detect(struct vt_finding_context *context);

#endif
