/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/gradient_sizes.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/search.h"

static int compare_sizes(const struct vt_allocation *a, uint64_t size_bytes,
			 const struct vt_recompute *node)
{
	const struct vt_recompute maker = vt_recomputes_maker(a);

	if (a->common->size_bytes != size_bytes)
		return a->common->size_bytes < size_bytes ? -1 : 1;
	return vt_recomputes_compare(&maker, node);
}

static int compare_gradients(const void *a, const void *b, void *context)
{
	const struct vt_model *model = context;
	const struct vt_allocation *y = &model->allocations[*(const uint32_t *)b];
	const struct vt_recompute node = vt_recomputes_maker(y);

	return compare_sizes(&model->allocations[*(const uint32_t *)a], y->common->size_bytes,
			     &node);
}

void vt_gradient_sizes_init(struct vt_gradient_sizes *sizes, const struct vt_model *model,
			    uint32_t *gradients, uint32_t nr)
{
	sizes->model = model;
	sizes->gradients = gradients;
	sizes->nr = nr;
	if (nr)
		qsort_r(gradients, nr, sizeof(*gradients), compare_gradients, (void *)model);
}

void vt_gradient_sizes_release(struct vt_gradient_sizes *sizes)
{
	free(sizes->gradients);
	memset(sizes, 0, sizeof(*sizes));
}

int vt_gradient_sizes_has_node(const struct vt_gradient_sizes *sizes, uint64_t size_bytes,
			       const struct vt_recompute *node)
{
	const struct vt_allocation *all = sizes->model->allocations;
	size_t low = vt_search_first(
		i, sizes->nr, compare_sizes(&all[sizes->gradients[i]], size_bytes, node) < 0);

	return low < sizes->nr && !compare_sizes(&all[sizes->gradients[low]], size_bytes, node);
}
