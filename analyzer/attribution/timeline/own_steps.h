/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OWN_STEPS_H
#define VT_ANALYZER_OWN_STEPS_H

/*
 * Functions of the program that take an optimizer's step, by what their operators do: they read
 * what a backward pass left and write in place what layers multiply by, where no optimizer of
 * PyTorch does.  A function that also calls the model or the backward pass is a training loop, and
 * none of these.
 */

#include <stdint.h>

#include "analyzer/model/model.h"

/*
 * By code object: whether it is one; NULL: none is.  `computes` says of code objects whether any
 * stack runs through them into a forward or a backward pass, `by_stack` of Python stacks which
 * stage they show (enum vt_stage; VT_NR_STAGES: none).  To be freed.
 */
uint8_t *vt_own_steps_find(const struct vt_model *model, const uint8_t *computes,
			   const uint8_t *by_stack);

#endif
