/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CARRIED_TENSORS_H
#define VT_ANALYZER_CARRIED_TENSORS_H

/*
 * What one call of a module leaves for its next call: blocks that are alive when it is called again
 * and gone when it is called once more.  Between the two calls the program may exchange them for
 * copies (beams are sorted, a prompt's cache is multiplied): then a block that died between the
 * calls was handed over as well, provided that copies of its size were.
 */

#include <stdint.h>

#include "analyzer/attribution/calls/module_stack.h"
#include "analyzer/attribution/timeline/passes.h"
#include "analyzer/base/util.h"

/* A block that is handed over, by the place that made it. */
struct vt_carried_tensor {
	uint64_t module; /* innermost; 0: none */
	uint32_t type;	 /* its class: string id */
	uint32_t frame;	 /* innermost; outer ones differ between the prompt's call and the others */
	uint32_t occurrence; /* counts the blocks of one frame and module in the call */
	uint32_t allocation;
	uint64_t size_bytes;
};

typedef VT_VECTOR(struct vt_carried_tensor) vt_carried_vector;

struct vt_carried_tensors {
	const struct vt_passes *passes;
	const struct vt_model *model;
	const struct vt_module_stacks *module_stacks;
	uint32_t *first; /* by pass: its first allocation; entry nr ends the last */
	uint32_t *order; /* passes by module, then by generation, then in time */
	uint32_t nr;
};

/* A position counts in `order`. */
void vt_carried_tensors_init(struct vt_carried_tensors *carried, const struct vt_passes *passes,
			     const struct vt_model *model,
			     const struct vt_module_stacks *module_stacks);
void vt_carried_tensors_release(struct vt_carried_tensors *carried);

const struct vt_pass *vt_carried_tensors_pass(const struct vt_carried_tensors *carried,
					      uint32_t position);
/* The pass that many calls later, of the same module and generation; NULL: none. */
const struct vt_pass *vt_carried_tensors_later(const struct vt_carried_tensors *carried,
					       uint32_t position, uint32_t calls);
/* Size of the first block that a call made; 0: it made none. */
uint64_t vt_carried_tensors_first_size(const struct vt_carried_tensors *carried, uint32_t position);

/* Whether two are of one place in modules of one class. */
int vt_carried_tensors_is_same(const struct vt_carried_tensor *one,
			       const struct vt_carried_tensor *other);

/* Fills `found` with what the call hands over; what is of one place stands together. */
void vt_carried_tensors_gather(const struct vt_carried_tensors *carried, uint32_t position,
			 vt_carried_vector *found);
/* Fills `found` with all that is there when the call ends, whatever becomes of it. */
void vt_carried_tensors_returned(const struct vt_carried_tensors *carried, uint32_t position,
				 vt_carried_vector *found);
/* Fills `copies` with what the program made of `original` behind the call, outside of any. */
void vt_carried_tensors_copies(const struct vt_carried_tensors *carried, uint32_t position,
			 const vt_carried_vector *original, vt_carried_vector *copies);

/*
 * Whether blocks of these sizes may hold as much: PyTorch's allocator gives up to 1 MiB more than
 * was asked for where what is left over is not worth a block of its own.
 */
int vt_carried_tensors_is_as_large(uint64_t size_bytes, uint64_t other_bytes);

#endif
