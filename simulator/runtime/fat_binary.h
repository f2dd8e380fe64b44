/* SPDX-License-Identifier: MIT */
#ifndef VTS_RUNTIME_FAT_BINARY_H
#define VTS_RUNTIME_FAT_BINARY_H

/*
 * Which of the images that nvcc packed for several architectures a device would run.
 * Architectures and capabilities are numbers like 86.
 */

struct vts_code {
	int ptx_architecture; /* what the code was compiled for */
	int binary_architecture; /* the machine code: the device's own where PTX is compiled */
};

/*
 * The code of a fat binary for a device: machine code of the highest minor version of the same
 * major version that is not above the device's, else the highest PTX not above it.  Where there is
 * neither, and where data is NULL or no fat binary, both are the capability.  Any thread.
 */
struct vts_code vts_fat_binary_code(const void *data, int capability);

#endif
