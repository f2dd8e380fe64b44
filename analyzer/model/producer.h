/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PRODUCER_H
#define VT_ANALYZER_PRODUCER_H

/*
 * Where in the program the producer of an allocation stood.  That is its Python stack, but for what
 * a node of the backward pass made without a Python stack: there it is the stack of the forward
 * call that made the node.
 */

#include <stdint.h>

#include "analyzer/model/describe.h"

struct vt_producer {
	uint32_t python_stack; /* 0: unknown */
	uint32_t native_stack;
	uint32_t forward_python_stack; /* of its node; 0: none, or not known */
	uint8_t is_backward;	       /* the Python stack is that of the forward */
};

/* The innermost frame outside of installed packages. */
struct vt_own_frame {
	uint32_t id;	     /* VT_NO_INDEX: there is none */
	uint8_t is_backward; /* it is of the forward, and the producer of its backward */
};

struct vt_producer vt_producer_of(const struct vt_model *model, const struct vt_allocation *a);
/* Of a request that was not served. */
struct vt_producer vt_producer_of_failed(const struct vt_model *model,
					 const struct vt_out_of_memory *oom);

/* The Python stack of vt_producer_of(). */
uint32_t vt_producer_stack(const struct vt_model *model, const struct vt_allocation *a);

/*
 * Its frames that are to be seen, innermost first, "backward of" before the line of a forward call;
 * native ones where there is no Python.  The caller gives them to vt_lines_free.
 */
struct vt_lines vt_producer_lines(const struct vt_describe *describe,
				  const struct vt_allocation *a);
/* The Python frames alone. */
struct vt_lines vt_producer_python(const struct vt_describe *describe,
				   const struct vt_producer *producer);
/* The first of its lines, native where there is no Python.  Free(); NULL: there is none. */
char *vt_producer_first_line(const struct vt_describe *describe,
			     const struct vt_producer *producer);
/* That of the producer; a library's own backward in Python was called by none, its forward was. */
struct vt_own_frame vt_producer_own_frame(const struct vt_describe *describe,
					  const struct vt_producer *producer);
/* It as text, "backward of" before the line of a forward.  Free(); NULL: there is none. */
char *vt_producer_own_line(const struct vt_describe *describe, const struct vt_producer *producer);
/* The same where another frame is seen inside of it; else NULL. */
char *vt_producer_caller(const struct vt_describe *describe, const struct vt_producer *producer);

#endif
