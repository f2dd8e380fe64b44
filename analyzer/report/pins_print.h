/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PINS_PRINT_H
#define VT_ANALYZER_PINS_PRINT_H

/* The call sites whose live blocks pin free memory, as text. */

#include "analyzer/report/frag.h"

/* "1.20 GiB beside 3 blocks of 4.00 KiB, OWNER".  The caller frees it. */
char *vt_pins_summary(const struct vt_frag_pin *pin, const struct vt_attribution *attribution);

/* The `most` that pin most, each with up to `most_lines` of its stack; nothing if none does. */
void vt_pins_print(const struct vt_frag_device *device, const struct vt_attribution *attribution,
		   const struct vt_describe *describe, size_t most, unsigned most_lines, FILE *out);

#endif
