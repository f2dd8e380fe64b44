/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_IMAGE_H
#define VTS_DRIVER_IMAGE_H

/*
 * What the image of a module says of its kernels: how much local memory (stack and spilled
 * registers) each thread takes.  Read from device code as ELF, as compilers at run time load it;
 * of any other image (PTX, fat binaries, which are compressed) nothing is known.
 */

#include <stddef.h>
#include <stdint.h>

struct vts_image_kernel {
	char *name;
	uint32_t local_bytes;
};

struct vts_image {
	struct vts_image_kernel *kernels;
	size_t nr_kernels;
};

void vts_image_read(struct vts_image *image, const void *bytes);
void vts_image_release(struct vts_image *image);
/* 0: it needs none, or it is not known. */
uint32_t vts_image_local_bytes(const struct vts_image *image, const char *kernel);

#endif
