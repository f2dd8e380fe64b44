/* SPDX-License-Identifier: MIT */
/*
 * Version queries: each library answers with the release that the client's package requires, else
 * with the major number of its soname.
 */
#include <stddef.h>

#include "maths.h"

enum { SUCCESS = 0, BAD_PARAM = 2000 /* cuDNN's, of the numbering since release 9 */ };

/* CUDNN_VERSION since release 9. */
static size_t cudnn_version(void)
{
	struct vts_release release = vts_maths_release_of("libcudnn");

	return (size_t)(release.major * 10000 + release.minor * 100 + release.patch);
}

static int cudnn_property(int property, int *value)
{
	struct vts_release release = vts_maths_release_of("libcudnn");
	int parts[] = {release.major, release.minor, release.patch};

	if (property < 0 || property > 2)
		return BAD_PARAM;
	*value = parts[property];
	return SUCCESS;
}

/* The CUDA release that a library was built with: that of the runtime compiler beside it. */
static size_t cudnn_cudart_version(void)
{
	return (size_t)vts_maths_release_of("libnvrtc").major * 1000;
}

/* NCCL_VERSION_CODE since 2.9. */
static int nccl_version(int *version)
{
	struct vts_release release = vts_maths_release_of("libnccl");

	*version = release.major * 10000 + release.minor * 100 + release.patch;
	return SUCCESS;
}

static int nvrtc_version(int *major, int *minor)
{
	struct vts_release release = vts_maths_release_of("libnvrtc");

	*major = release.major;
	*minor = release.minor;
	return SUCCESS;
}

static int cublas_version(void *handle, int *version)
{
	struct vts_release release = vts_maths_release_of("libcublas");

	(void)handle;
	*version = release.major * 10000 + release.minor * 100 + release.patch;
	return SUCCESS;
}

static size_t cublaslt_version(void)
{
	struct vts_release release = vts_maths_release_of("libcublasLt");

	return (size_t)(release.major * 10000 + release.minor * 100 + release.patch);
}

const struct vts_maths_function vts_maths_version_functions[] = {
	{"cudnnGetVersion", (void *)cudnn_version},
	{"cudnnGetProperty", (void *)cudnn_property},
	{"cudnnGetCudartVersion", (void *)cudnn_cudart_version},
	{"ncclGetVersion", (void *)nccl_version},
	{"nvrtcVersion", (void *)nvrtc_version},
	{"cublasGetVersion_v2", (void *)cublas_version},
	{"cublasLtGetVersion", (void *)cublaslt_version},
	{NULL, NULL},
};
