/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GENERATED_CODE_H
#define VT_ANALYZER_GENERATED_CODE_H

/*
 * A Python file that torch.compile generated (Inductor): a straight line of statements that make
 * buffers and run kernels on them.  Which buffer a kernel reads and writes is in the text alone, as
 * no operator runs:
 *
 *	buf3 = empty_strided_cuda((8, 64), (64, 1), torch.float32)
 *	# Topologically Sorted Source Nodes: [relu], Original ATen: [aten.addmm, aten.relu]
 *	triton_poi_fused_addmm_relu_0.run(buf2, buf3, 512, stream=stream0)
 *
 * A buffer is known by the line that makes its memory; other names for it are followed.
 */

#include <stdint.h>

#include "analyzer/base/util.h"

struct vt_generated_memory {
	uint32_t line;
	uint32_t result;   /* of the operator that is called on that line; where it is one */
	uint8_t is_result; /* ... and not made by the line itself */
};

struct vt_generated_tensor {
	uint32_t memory; /* index */
	uint8_t is_read;
	uint8_t is_written;
};

struct vt_generated_kernel {
	uint32_t line;
	char *operators; /* that it is made of: "addmm relu", "template mm" */
	uint32_t first_tensor;
	uint32_t nr_tensors;
};

struct vt_generated_code {
	VT_VECTOR(struct vt_generated_memory) memories; /* by line */
	VT_VECTOR(struct vt_generated_tensor) tensors;	/* of kernels, in order */
	VT_VECTOR(struct vt_generated_kernel) kernels;	/* by line */
};

/* `text`: a row of python_source, lines that each begin with their number and a tab. */
void vt_generated_code_read(struct vt_generated_code *code, const char *text);
void vt_generated_code_release(struct vt_generated_code *code);

#endif
