/* SPDX-License-Identifier: MIT */
/*
 * The real functions behind the hooks: a libcuda.so.1 that answers what it is told to, and the
 * libraries of PyTorch that the recorder looks for (ANSWERS_FOR_TORCH).
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "tests/harm/answers.h"

#ifndef ANSWERS_FOR_TORCH

static struct {
	struct answers answers;
} g;

struct answers *answers(void)
{
	return &g.answers;
}

uint64_t answer(enum answer_row row)
{
	g.answers.nr_calls[row]++;
	g.answers.error_seen[row] = errno;
	pthread_sigmask(SIG_BLOCK, NULL, &g.answers.mask_seen[row]);
	if (g.answers.error)
		errno = g.answers.error;
	return g.answers.result;
}

#define VT_CUDA_API(id, name, version, kind, op)                                                   \
	uint64_t name(void);                                                                       \
	uint64_t name(void)                                                                        \
	{                                                                                          \
		return answer(ROW_##name);                                                         \
	}
#define VT_FRAMEWORK_API(id, name, kind, op)
#include "common/cuda_api.def"
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API

/* What the recorder asks on its own account: it fails, and leaves its mark in errno. */
#define QUERY(name)                                                                                \
	unsigned int name(void);                                                                   \
	unsigned int name(void)                                                                    \
	{                                                                                          \
		errno = EDOM;                                                                      \
		return g.answers.result ? g.answers.result : 201;                                  \
	}
QUERY(cuCtxGetDevice)
QUERY(cuCtxGetCurrent)
QUERY(cuMemGetAddressRange_v2)
QUERY(cuDeviceGetName)
QUERY(cuDeviceGetAttribute)
QUERY(cuStreamGetCaptureInfo_v2)

#else

#define TORCH(name)                                                                                \
	uint64_t torch_##name(void) __asm__(VT_TORCH_##name);                                      \
	uint64_t torch_##name(void)                                                                \
	{                                                                                          \
		return answer(ROW_##name);                                                         \
	}
TORCH_CALLS(TORCH)
#undef TORCH

int64_t current_stream(void) __asm__(VT_TORCH_CURRENT_STREAM);
int64_t current_stream(void)
{
	errno = EDOM;
	return 0;
}

#endif
