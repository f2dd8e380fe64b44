/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CALLERS_H
#define VT_ANALYZER_CALLERS_H

/*
 * Who made or freed memory: a program that runs in steps does it from a few hundred places, so
 * millions of rows share what is said of them.  Each is kept once, at an address that stays.
 */

#include <stdint.h>

#include "analyzer/base/interned.h"

struct vt_caller {
	uint64_t stream; /* of made blocks: PyTorch's number; 0: default, or not known */
	uint32_t thread;
	uint32_t native_stack;
	uint32_t python_stack;
	uint32_t forward_python_stack; /* of the call that created node_sequence; 0: unknown */
	uint32_t scope;
	uint32_t node_class;
	uint32_t grad; /* enum vt_grad, of blocks */
	uint32_t number; /* from 1, for tables by caller; 0: nobody */
};

/* Of what was not freed; 0 in all. */
extern const struct vt_caller vt_caller_nobody;

/* Zero-initialised memory has none. */
struct vt_callers {
	struct vt_interned all;
	uint32_t last_number;
};

/* The one that is equal to `caller`, whose number is of no interest; valid until the release. */
const struct vt_caller *vt_callers_intern(struct vt_callers *callers,
					  const struct vt_caller *caller);
void vt_callers_release(struct vt_callers *callers);

#endif
