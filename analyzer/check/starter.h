/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STARTER_H
#define VT_ANALYZER_STARTER_H

/* A budget to begin with: what one run took, with some room, and a comment on each limit. */

#include <stdio.h>

#include "analyzer/check/measure.h"

void vt_starter_write(struct vt_measure *measure, int device, FILE *out);

#endif
