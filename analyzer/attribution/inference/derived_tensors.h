/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DERIVED_TENSORS_H
#define VT_ANALYZER_DERIVED_TENSORS_H

/*
 * What the program's own code, outside of a model's forward, made something of: it casts, copies,
 * repeats what a model returned, and puts batches together from pieces.
 *
 * No recorder sees the arguments of an operator.  But few things are alive when the call of a model
 * has returned that autograd did not record, and a result has the elements of its source: once,
 * in half or twice the bytes, or several times where rows are repeated.  And what was put together
 * is as large as all pieces that were made in one place.
 */

#include "analyzer/attribution/inference/facts.h"

/* Fills facts->derived, by allocation: enum vt_derived_tensor + 1; 0: not known. */
void vt_derived_tensors_find(struct vt_facts *facts);

#endif
