/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CHEAPEST_COVER_H
#define VT_ANALYZER_CHEAPEST_COVER_H

/*
 * The cheapest set of items that meets all needs: at each of several moments so many bytes must be
 * saved, and every item saves some of them there.  Exact, by branch and bound.
 */

#include <stddef.h>
#include <stdint.h>

#define VT_COVER_ALWAYS UINT32_MAX

struct vt_cover_need {
	double bytes;        /* that are too many; 0 or less: none */
	uint32_t item;       /* only where this item is chosen; VT_COVER_ALWAYS: in any case */
	const double *saves; /* by item; borrowed */
};

struct vt_cover {
	const struct vt_cover_need *needs;
	size_t nr_needs;
	const double *costs; /* by item, at least 0 */
	size_t nr_items;
};

enum vt_cover_result {
	VT_COVER_NONE,   /* no set meets them */
	VT_COVER_FOUND,  /* and no other is cheaper */
	VT_COVER_GIVEN_UP, /* after very many tries: the best of these, if any was found */
};

/* chosen[nr_items], by item; all zero where nothing was found. */
enum vt_cover_result vt_cover_find(const struct vt_cover *cover, uint8_t *chosen);

/* The most bytes that a set leaves over at any moment, what it saves taken off; may be below 0. */
double vt_cover_worst(const struct vt_cover *cover, const uint8_t *chosen);

#endif
