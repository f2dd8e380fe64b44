/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CUBLAS_WORKSPACE_H
#define VT_ANALYZER_CUBLAS_WORKSPACE_H

/*
 * What PyTorch allocates for cuBLAS, of each handle and stream (parseChosenWorkspaceSize in
 * aten/src/ATen/cuda/CublasHandlePool.cpp), unless CUBLAS_WORKSPACE_CONFIG says otherwise.
 */

#define VT_CUBLAS_WORKSPACE_BYTES        8519680  /* :4096:2:16:8, in KiB: two pieces, and eight */
#define VT_CUBLAS_WORKSPACE_HOPPER_BYTES 33554432 /* of compute capability 9.0 */

#endif
