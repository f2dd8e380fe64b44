/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OPERATOR_CLASSES_H
#define VT_ANALYZER_OPERATOR_CLASSES_H

/* What PyTorch's operators compute, as far as it matters for which part of a network they are. */

enum vt_operator_class {
	VT_OPERATOR_OTHER,
	VT_OPERATOR_VIEW,    /* the same storage, or a copy by an operator that it calls */
	VT_OPERATOR_FACTORY, /* of no tensor's values */
	VT_OPERATOR_UPDATE, /* of many tensors at once: optimizers */
	VT_OPERATOR_COPY,
	VT_OPERATOR_JOIN, /* a copy of several */
	VT_OPERATOR_CAST,
	VT_OPERATOR_DROPOUT,
	VT_OPERATOR_ADD,
	VT_OPERATOR_MULTIPLY,
	VT_OPERATOR_SQUARE,
	VT_OPERATOR_ROOT,
	VT_OPERATOR_EXPONENTIAL,
	VT_OPERATOR_LOGARITHM,
	VT_OPERATOR_REDUCE,
	VT_OPERATOR_ACCUMULATE, /* a sum by index: what edges bring to their nodes */
	VT_OPERATOR_DEVIATION, /* a reduction that is a root or its square */
	VT_OPERATOR_NONLINEAR,
	VT_OPERATOR_SOFTMAX,
	VT_OPERATOR_NORM,
	VT_OPERATOR_PRODUCT,
	VT_OPERATOR_CONVOLUTION,
	VT_OPERATOR_POOL,
	VT_OPERATOR_UPSAMPLE, /* also to fewer points */
	VT_OPERATOR_ATTENTION, /* fused */
	VT_OPERATOR_RECURRENT,
	VT_OPERATOR_FOURIER,
	VT_OPERATOR_EMBEDDING,
	VT_OPERATOR_INDEX,
	VT_OPERATOR_NORMALISER, /* the logarithm of a sum of exponentials */
	VT_OPERATOR_LOSS, /* of a distribution: cross entropy and its parts */
	VT_OPERATOR_CHOICE,
	VT_NR_OPERATOR_CLASSES
};

/* By a name without overload: "aten::addmm"; of generated code: "inductor::addmm relu". */
enum vt_operator_class vt_operator_class(const char *name);
/* Whether it writes its first argument. */
int vt_operator_is_in_place(const char *name);
/* A kernel of generated code, which writes all that it returns (generated_calls.h). */
int vt_operator_is_generated(const char *name);
/* Whether it makes the gradient of scores from a loss. */
int vt_operator_is_loss_gradient(const char *name);

#endif
