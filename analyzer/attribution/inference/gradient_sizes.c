/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/gradient_sizes.h"

#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/util.h"

static int compare_gradient_sizes(const void *a, const void *b)
{
	const struct vt_gradient_size *x = a, *y = b;

	if (x->size_bytes != y->size_bytes)
		return x->size_bytes < y->size_bytes ? -1 : 1;
	return vt_recomputes_compare(&x->node, &y->node);
}

void vt_gradient_sizes_init(struct vt_gradient_sizes *twins, struct vt_gradient_size *gradients,
			    uint32_t nr)
{
	twins->gradients = gradients;
	twins->nr = nr;
	vt_sort(gradients, nr, compare_gradient_sizes);
}

void vt_gradient_sizes_release(struct vt_gradient_sizes *twins)
{
	free(twins->gradients);
	memset(twins, 0, sizeof(*twins));
}

/* The first at or behind `wanted`; NULL: none. */
static const struct vt_gradient_size *find(const struct vt_gradient_sizes *twins,
				  const struct vt_gradient_size *wanted)
{
	uint32_t low = vt_search_first(i, twins->nr,
				       compare_gradient_sizes(&twins->gradients[i], wanted) < 0);

	return low < twins->nr ? &twins->gradients[low] : NULL;
}

int vt_gradient_sizes_has_node(const struct vt_gradient_sizes *twins, uint64_t size_bytes,
		      const struct vt_recompute *node)
{
	const struct vt_gradient_size wanted = { size_bytes, *node };
	const struct vt_gradient_size *found = find(twins, &wanted);

	return found && !compare_gradient_sizes(found, &wanted);
}
