/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_ARRAY_H
#define VTS_DRIVER_ARRAY_H

/* Destroys the arrays of a context, with op "freed-by-destroy".  Needs the call mutex. */
void vts_array_drop_context(unsigned int context);

#endif
