/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_NAMES_H
#define VT_ANALYZER_NAMES_H

/*
 * What the program itself calls its memory: which allocation each tensor that the probe saw lies
 * in, and where in its tree each module is.  Facts only.
 *
 * A tensor is true of one instant; the allocation meant is the one that was live at its address
 * then, however often the address was given out before and afterwards.
 */

#include <stdint.h>

#include "analyzer/base/narrow.h"
#include "analyzer/model/model.h"

struct vt_names {
	const struct vt_model *model;
	uint32_t *by_allocation; /* indices of vt_model.tensors; of one allocation by role, event */
	struct vt_narrow first;  /* by allocation: its first entry; entry nr_allocations ends */
	uint32_t *allocations;   /* by tensor: the allocation, VT_NO_INDEX: none was live there */
	uint32_t *modules;       /* indices of vt_model.modules by address, then event */
	uint32_t *clashing;      /* sorted string ids of holders whose trees have equal names */
	uint32_t nr_clashing;
	uint32_t *parameters;    /* of what is trained one tensor of each shape and type, sorted */
	uint32_t nr_parameters;
};

#define VT_NAMES_ANY_ROLE UINT32_MAX

/* `model` must outlive it and have its containers (containers.h). */
void vt_names_init(struct vt_names *names, const struct vt_model *model);
void vt_names_release(struct vt_names *names);

/* The rows of one allocation (index), as indices of vt_model.tensors, strongest role first. */
const uint32_t *vt_names_rows(const struct vt_names *names, uint32_t allocation, uint32_t *nr);
/* Bit per enum vt_role. */
uint32_t vt_names_roles(const struct vt_names *names, uint32_t allocation);
/*
 * The last row of the strongest role among those of the mask, of tied weights the first of its
 * probe; NULL: none.
 */
const struct vt_tensor *vt_names_find(const struct vt_names *names, uint32_t allocation,
				      uint32_t role_mask);
/*
 * The module at an address as it was at `event`: the last one seen there before, else the first
 * one afterwards, of that class (string id).  NULL: no probe saw it.
 */
const struct vt_torch_module *vt_names_module(const struct vt_names *names, uint64_t address,
					      uint32_t class_name, int64_t event);

/* Whether a module's parameter has the shape of this tensor, and another type. */
int vt_names_has_parameter_like(const struct vt_names *names, const struct vt_tensor *tensor);
/* Whether anything that is trained, a module's or not, has this shape. */
int vt_names_is_shaped_like(const struct vt_names *names, const struct vt_tensor *tensor);

/*
 * Full names; the caller frees.  The variable precedes them where another tree has the same
 * names ("generator.0.weight").  The path of a root is empty, or the variable.
 */
char *vt_names_tensor_path(const struct vt_names *names, const struct vt_tensor *tensor);
char *vt_names_module_path(const struct vt_names *names, const struct vt_torch_module *module);

#endif
