/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/figures.h"

#include <stdio.h>

void vt_figures_make(struct vt_figures *figures, const uint64_t *bytes)
{
	int64_t change = (int64_t)(bytes[1] - bytes[0]);

	vt_units_bytes(figures->base, sizeof(figures->base), bytes[0]);
	vt_units_bytes(figures->new, sizeof(figures->new), bytes[1]);
	vt_units_bytes_signed(figures->change, sizeof(figures->change), change);
	figures->share[0] = '\0';
	if (!change)
		return;
	if (!bytes[0] || !bytes[1])
		snprintf(figures->share, sizeof(figures->share), "%s", vt_figures_word(bytes));
	else
		snprintf(figures->share, sizeof(figures->share), "%+.1f %%",
			 100.0 * (double)change / (double)bytes[0]);
}

const char *vt_figures_word(const uint64_t *bytes)
{
	if (!bytes[0])
		return "new";
	if (!bytes[1])
		return "gone";
	return bytes[1] > bytes[0] ? "grown" : "shrunk";
}
