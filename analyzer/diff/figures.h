/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FIGURES_H
#define VT_ANALYZER_FIGURES_H

/* A pair of figures as text: "1.37 GiB", "1.98 GiB", "+628.00 MiB", "+44.7 %". */

#include <stdint.h>

#include "analyzer/base/units.h"

struct vt_figures {
	char base[VT_UNITS_MAX];
	char new[VT_UNITS_MAX];
	char change[VT_UNITS_MAX];
	char share[VT_UNITS_MAX]; /* of the base; "new" where it had none, "gone" */
};

/* `bytes`: those of the base and of the new run. */
void vt_figures_make(struct vt_figures *figures, const uint64_t *bytes);
/* "grown", "shrunk", "new", "gone" */
const char *vt_figures_word(const uint64_t *bytes);

#endif
