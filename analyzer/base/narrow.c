/* SPDX-License-Identifier: MIT */
#include "analyzer/base/narrow.h"

#include <string.h>

#include "analyzer/base/util.h"

void vt_narrow_init(struct vt_narrow *numbers, size_t nr)
{
	memset(numbers, 0, sizeof(*numbers));
	numbers->narrow = vt_xcalloc(nr + 1, sizeof(*numbers->narrow));
	numbers->nr = nr;
}

void vt_narrow_release(struct vt_narrow *numbers)
{
	free(numbers->narrow);
	free(numbers->wide);
	memset(numbers, 0, sizeof(*numbers));
}

void vt_narrow_widen(struct vt_narrow *numbers)
{
	numbers->wide = vt_xcalloc(numbers->nr + 1, sizeof(*numbers->wide));
	for (size_t i = 0; i < numbers->nr; i++)
		numbers->wide[i] = numbers->narrow[i];
	free(numbers->narrow);
	numbers->narrow = NULL;
}
