/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PLACES_H
#define VT_ANALYZER_PLACES_H

/* The blocks of both sides of a comparison with their places: numbers, equal for the same one. */

#include "analyzer/diff/alignment.h"
#include "analyzer/diff/live.h"
#include "analyzer/diff/relocation.h"

VT_VECTOR_DECLARE(vt_entries, struct vt_entry);

struct vt_places {
	/* By the caller; borrowed. */
	const struct vt_changes_side *sides;
	const struct vt_changes_live *const *live;
	struct vt_alignment alignment;
	struct vt_entries entries;
};

/* The two are filled by the caller, all else is zeroed.  `is_exact`: of equal lines only. */
void vt_places_init(struct vt_places *places, int is_exact);
/* All blocks at one place. */
void vt_places_init_nowhere(struct vt_places *places);
void vt_places_release(struct vt_places *places);

#endif
