/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TENSOR_FILE_H
#define VT_ANALYZER_TENSOR_FILE_H

/*
 * The header of a safetensors or GGUF file: names, types and shapes of tensors, never their data.
 * A header is somebody else's: no length in it is trusted.
 */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/planner/architecture.h"

/* More are refused in a GGUF file, which has all experts of a layer in one. */
#define VT_TENSOR_FILE_MAX (1 << 17)

/* By the file's first bytes.  0, or -1 with `diag` filled. */
int vt_tensor_file_open(struct vt_architecture *model, const char *path, struct vt_diag *diag);

/* The whole file, to be read: munmap() it.  NULL with `diag` filled. */
void *vt_tensor_file_map(const char *path, size_t *len, struct vt_diag *diag);

/*
 * The same as vt_tensor_file_open over memory: `len` bytes from the start of a file of
 * `file_bytes`.  Neither reads behind `len`, whatever the bytes say.  Of several safetensors files
 * each adds to what the last one left.
 */
int vt_safetensors_read(struct vt_architecture *model, const void *bytes, size_t len,
			uint64_t file_bytes, const char *where, struct vt_diag *diag);
int vt_gguf_read(struct vt_architecture *model, const void *bytes, size_t len, const char *where,
		 struct vt_diag *diag);

#endif
