/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HARM_ANSWERS_H
#define TESTS_HARM_ANSWERS_H

/*
 * All functions that the recorder stands in front of, from its own tables: a new row is a function
 * more here, in the driver that answers (answers.c) and in the program that asks (untouched.c).
 * C++ exceptions pass evaluate_function, so that one has tests with PyTorch only.
 */

#include <signal.h>
#include <stdint.h>

#include "preload/torch_real.h"

/* TORCH(name): called with numbers, TORCH_ names the symbol. */
#define TORCH_CALLS(TORCH)                                                                         \
	TORCH(REPORT_V1)                                                                           \
	TORCH(REPORT_V2)                                                                           \
	TORCH(REPORT_V3)                                                                           \
	TORCH(OUT_OF_MEMORY_V1)                                                                    \
	TORCH(OUT_OF_MEMORY_V2)                                                                    \
	TORCH(DIVISIONS_V1)                                                                        \
	TORCH(DIVISIONS_V2)                                                                        \
	TORCH(NEXT_SEQUENCE)

enum answer_row {
#define VT_CUDA_API(id, name, version, kind, op) ROW_##name,
#define VT_FRAMEWORK_API(id, name, kind, op)
#include "common/cuda_api.def"
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API
#define TORCH(name) ROW_##name,
	TORCH_CALLS(TORCH)
#undef TORCH
	NR_ROWS,
};

/* What the real functions are to do, and what they saw. */
struct answers {
	unsigned int result;
	int error;		/* to leave in errno; 0: as it came */
	unsigned int nr_calls[NR_ROWS];
	int error_seen[NR_ROWS];	/* errno as it came */
	sigset_t mask_seen[NR_ROWS];	/* the thread's signal mask */
	unsigned int nr_questions;	/* of the recorder's own about what pools hold */
	unsigned int capture_mode;	/* the thread's */
};
struct answers *answers(void);
uint64_t answer(enum answer_row row);

/* Enough arguments for all of them, two of them on the stack. */
typedef uint64_t any_function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
			      uintptr_t, uintptr_t);

#endif
