/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_ARRAY_H
#define VTS_DRIVER_ARRAY_H

#include "common/cuda_abi.h"

/* A mipmapped array over memory that somebody else is charged for.  Needs the call mutex. */
CUresult vts_array_new_foreign(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *shape,
			       unsigned int nr_levels);

/* Destroys the arrays of a context, with op "freed-by-destroy".  Needs the call mutex. */
void vts_array_drop_context(unsigned int context);

#endif
