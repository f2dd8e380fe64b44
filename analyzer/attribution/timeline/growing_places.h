/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GROWING_PLACES_H
#define VT_ANALYZER_GROWING_PLACES_H

/*
 * What the calls of a row hand over, by the place in a module that made it: a place whose tensors
 * grow from call to call makes a cache.
 */

#include "analyzer/attribution/timeline/carried_tensors.h"

/* A place in all modules of a class that hands over in each call of a row. */
struct vt_growing_place {
	uint32_t type;
	uint32_t frame;
	uint32_t occurrence;
	uint32_t position; /* of the last call that did */
	uint32_t nr_steps;
	uint32_t nr_grown;
	uint64_t size_bytes; /* then; the smallest of all these modules' */
	uint8_t has_shrunk;
	uint8_t is_known;
};

VT_VECTOR_DECLARE(vt_growing_places, struct vt_growing_place);

/* The next call of a row: what each place hands over now. */
void vt_growing_places_follow(struct vt_growing_places *places, uint32_t position,
			      const vt_carried_vector *handed);
/* Whether some place handed over in the call and the one before, and none has shrunk. */
int vt_growing_places_go_on(const struct vt_growing_places *places, uint32_t position);
int vt_growing_places_has_any(const struct vt_growing_places *places);
/* Whether that was handed over at a place that grows; in a call that was cut short no smaller. */
int vt_growing_places_has(const struct vt_growing_places *places,
			  const struct vt_carried_tensor *one, uint32_t position);

#endif
