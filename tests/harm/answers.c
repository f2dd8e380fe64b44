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

/* What a pool holds is asked by numbers, where the program gives addresses. */
static int is_own_question(enum answer_row row, uint32_t attribute)
{
	return (row == ROW_cuMemPoolGetAttribute || row == ROW_cuDeviceGetGraphMemAttribute) &&
	       attribute < 0x100;
}

/* Another answer each time, so that it is recorded. */
static uint64_t tell_bytes(uint64_t *bytes)
{
	*bytes = ++g.answers.nr_questions;
	errno = EDOM;
	return 0;
}

#define VT_CUDA_API(id, name, version, kind, op)                                                   \
	uint64_t name(uintptr_t, uint32_t, uint64_t *);                                            \
	uint64_t name(uintptr_t first, uint32_t second, uint64_t *third)                           \
	{                                                                                          \
		(void)first;                                                                       \
		return is_own_question(ROW_##name, second) ? tell_bytes(third)                     \
							   : answer(ROW_##name);                   \
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
QUERY(cuDeviceGetCount)
QUERY(cuDeviceGetName)
QUERY(cuDeviceGetAttribute)
QUERY(cuStreamGetCaptureInfo_v2)

/* Around the questions about pools, which are asked only where these succeed. */
unsigned int cuThreadExchangeStreamCaptureMode(unsigned int *mode);
unsigned int cuThreadExchangeStreamCaptureMode(unsigned int *mode)
{
	unsigned int before = g.answers.capture_mode;

	g.answers.capture_mode = *mode;
	*mode = before;
	errno = EDOM;
	return 0;
}

unsigned int cuDeviceGetMemPool(uintptr_t *pool, int device);
unsigned int cuDeviceGetMemPool(uintptr_t *pool, int device)
{
	(void)device;
	*pool = 0x70000000;
	errno = EDOM;
	return 0;
}

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
