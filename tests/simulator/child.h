/* SPDX-License-Identifier: MIT */
#ifndef VTS_TEST_CHILD_H
#define VTS_TEST_CHILD_H

/*
 * Runs a piece of a test in a child process with a fresh driver: the parent never calls one, so
 * each child starts from nothing and may have an environment of its own.
 */

#include "common/cuda_abi.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MIB (1024ULL * 1024)
#define GIB (1024 * MIB)

/* Inside a child: a failed check names itself on stderr and ends the child with 1. */
#define CHECK(condition)                                                                           \
	vts_child_check((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
#define CHECK_RC(expected, call) vts_child_check_rc(expected, call, #call, __FILE__, __LINE__)
#define CHECK_EQUAL(expected, value)                                                               \
	vts_child_check_equal((uint64_t)(expected), (uint64_t)(value), #value, __FILE__, __LINE__)

void vts_child_check(int is_true, const char *text, const char *file, int line);
void vts_child_check_rc(CUresult expected, CUresult got, const char *text, const char *file,
			int line);
void vts_child_check_equal(uint64_t expected, uint64_t got, const char *text, const char *file,
			   int line);

/*
 * Runs BODY with "NAME=VALUE" strings, NULL-terminated, added to an environment without any
 * VTRACE_ or CUDA_ variable.  Returns the exit status, or 128 + the signal.
 */
int vts_child_run(void (*body)(void), ...);

/* Inside a child: cuInit and the current primary context of device 0. */
CUcontext vts_child_start(void);

/* Inside a child: what cuMemGetInfo says is taken on the current device. */
uint64_t vts_child_used(void);

/* A file of this test program in a new directory; the name is valid until the next call. */
const char *vts_child_temporary(const char *name);

/* The whole of a file, NUL-terminated, to be freed; NULL when it cannot be read. */
char *vts_child_read(const char *path);

#endif
