/* SPDX-License-Identifier: MIT */
#include "analyzer/model/lifetimes.h"

#include <string.h>

#include "analyzer/base/util.h"

/* 32 classes for each doubling, on a scale of logarithms. */
#define NR_CLASSES 4096
#define CLASS_SHIFT 47
#define EXPONENT_BIAS ((uint64_t)1023 << (52 - CLASS_SHIFT))

double vt_lifetimes_area(const struct vt_model *model, const struct vt_allocation *a)
{
	int64_t end = a->freed_event == VT_NEVER ? model->last_event + 1 : a->freed_event;

	return (double)a->common->size_bytes * (double)(end - a->event);
}

static unsigned class_of(double area)
{
	uint64_t bits;

	memcpy(&bits, &area, sizeof(bits));
	bits = area > 1 ? (bits >> CLASS_SHIFT) - EXPONENT_BIAS : 0;
	return bits < NR_CLASSES ? (unsigned)bits : NR_CLASSES - 1;
}

/* The least area of a class. */
static double area_of(unsigned number)
{
	uint64_t bits = (number + EXPONENT_BIAS) << CLASS_SHIFT;
	double area;

	memcpy(&area, &bits, sizeof(area));
	return number ? area : 0;
}

double vt_lifetimes_least(const struct vt_model *model, uint32_t most, vt_lifetimes_fn is_counted,
			  const void *context)
{
	uint32_t *nr = vt_xcalloc(NR_CLASSES, sizeof(*nr)), sum = 0;
	unsigned least = NR_CLASSES;

	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (is_counted(i, context))
			nr[class_of(vt_lifetimes_area(model, &model->allocations[i]))]++;
	while (least && sum + nr[least - 1] <= most)
		sum += nr[--least];
	free(nr);
	return area_of(least);
}
