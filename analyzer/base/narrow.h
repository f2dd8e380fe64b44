/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_NARROW_H
#define VT_ANALYZER_NARROW_H

/*
 * A fixed number of unsigned numbers, 0 at first: two bytes each, and four from the first one on
 * that does not fit.  For what each of millions of blocks has one of a few hundred of.
 * Zero-initialised memory has none.
 */

#include <stddef.h>
#include <stdint.h>

struct vt_narrow {
	uint16_t *narrow; /* NULL: they are wide, or there are none */
	uint32_t *wide;
	size_t nr;
};

void vt_narrow_init(struct vt_narrow *numbers, size_t nr);
void vt_narrow_release(struct vt_narrow *numbers);
void vt_narrow_widen(struct vt_narrow *numbers);

static inline uint32_t vt_narrow_get(const struct vt_narrow *numbers, size_t at)
{
	return numbers->narrow ? numbers->narrow[at] : numbers->wide[at];
}

static inline void vt_narrow_set(struct vt_narrow *numbers, size_t at, uint32_t number)
{
	if (numbers->narrow && number > UINT16_MAX)
		vt_narrow_widen(numbers);
	if (numbers->narrow)
		numbers->narrow[at] = (uint16_t)number;
	else
		numbers->wide[at] = number;
}

#endif
