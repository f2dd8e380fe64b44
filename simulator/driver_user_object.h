/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_USER_OBJECT_H
#define VTS_DRIVER_USER_OBJECT_H

/* Counted objects of the program, which graphs may keep.  Needs the call mutex. */

#include "common/cuda_abi.h"

int vts_user_object_exists(CUuserObject object);
CUresult vts_user_object_retain(CUuserObject object, unsigned int count);

/* The last reference calls the program's destructor. */
CUresult vts_user_object_release(CUuserObject object, unsigned int count);

#endif
