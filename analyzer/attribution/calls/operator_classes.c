/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/calls/operator_classes.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/generated_calls.h"

/* Without "aten::" and the underscores at both ends; the first that fits decides. */
static const struct {
	enum vt_operator_class class;
	const char *patterns;
} classes[] = {
	{ VT_OPERATOR_VIEW,
	  "view unsafe_view view_as t transpose permute expand expand_as slice"
	  " select split split_with_sizes tensor_split chunk unsqueeze squeeze"
	  " detach alias as_strided reshape_alias reshape flatten unflatten unfold"
	  " diagonal unbind narrow swapaxes movedim lift_fresh contiguous numpy_T mT"
	  " matrix_H view_as_real view_as_complex real imag chunk_cat set_data item"
	  " local_scalar_dense record_stream" },
	{ VT_OPERATOR_UPDATE,
	  "foreach_* fused_adam* fused_sgd* fused_adagrad* amp_*" },
	{ VT_OPERATOR_ATTENTION,
	  "*scaled_dot_product* *flash_attn* *flash_attention*"
	  " *efficient_attention* *cudnn_attention* *native_multi_head_attention*"
	  " *FlashAttn*" },
	{ VT_OPERATOR_CONVOLUTION,
	  "*convolution* conv[123]d conv_transpose[123]d* slow_conv*"
	  " conv_depthwise*" },
	{ VT_OPERATOR_PRODUCT,
	  "mm addmm bmm baddbmm addbmm matmul linear einsum inner tensordot mv"
	  " addmv bilinear scaled_mm grouped_mm int_mm addmm_activation" },
	{ VT_OPERATOR_NORM,
	  "*layer_norm *rms_norm *batch_norm *group_norm *instance_norm *LayerNorm*"
	  " *RMSNorm* *RmsNorm*" },
	{ VT_OPERATOR_LOSS,
	  "log_softmax nll_loss* *ctc_loss* cross_entropy* kl_div *CrossEntropy*" },
	{ VT_OPERATOR_NORMALISER,
	  "logsumexp" },
	{ VT_OPERATOR_SOFTMAX,
	  "softmax safe_softmax masked_softmax" },
	{ VT_OPERATOR_CHOICE,
	  "argmax argmin multinomial topk sort" },
	{ VT_OPERATOR_RECURRENT,
	  "*cudnn_rnn* lstm* gru* rnn_* *thnn_fused*" },
	{ VT_OPERATOR_FOURIER,
	  "fft_*" },
	{ VT_OPERATOR_POOL,
	  "*max_pool* *avg_pool* *pixel_shuffle *pixel_unshuffle grid_sampler*" },
	{ VT_OPERATOR_UPSAMPLE,
	  "upsample*" },
	{ VT_OPERATOR_EMBEDDING,
	  "embedding embedding_bag embedding_renorm" },
	{ VT_OPERATOR_INDEX,
	  "index index_select gather take take_along_dim" },
	{ VT_OPERATOR_DROPOUT,
	  "dropout native_dropout feature_dropout alpha_dropout fused_dropout"
	  " bernoulli" },
	{ VT_OPERATOR_NONLINEAR,
	  "gelu silu relu relu6 leaky_relu elu selu celu mish hardswish hardtanh"
	  " tanh sigmoid softplus glu threshold clamp_min hardsigmoid prelu*"
	  " log_sigmoid* logsigmoid rrelu softsign tanhshrink hardshrink softshrink"
	  " erf" },
	{ VT_OPERATOR_ADD,
	  "add sub rsub" },
	{ VT_OPERATOR_MULTIPLY,
	  "mul div true_divide reciprocal" },
	{ VT_OPERATOR_SQUARE,
	  "pow square" },
	{ VT_OPERATOR_ROOT,
	  "rsqrt sqrt" },
	{ VT_OPERATOR_EXPONENTIAL,
	  "exp exp2 expm1" },
	{ VT_OPERATOR_LOGARITHM,
	  "log log2 log10 log1p" },
	{ VT_OPERATOR_DEVIATION,
	  "std std_mean var var_mean norm linalg_vector_norm frobenius_norm" },
	{ VT_OPERATOR_REDUCE,
	  "mean sum amax amin max min" },
	{ VT_OPERATOR_ACCUMULATE,
	  "index_add index_reduce scatter_add scatter_reduce segment_reduce" },
	{ VT_OPERATOR_CAST,
	  "to_copy" },
	{ VT_OPERATOR_JOIN,
	  "cat stack concat hstack vstack" },
	{ VT_OPERATOR_COPY,
	  "clone copy repeat repeat_interleave flip roll constant_pad_nd *_copy"
	  " *_scatter index_put* index_copy scatter masked_fill where neg masked_scatter" },
	{ VT_OPERATOR_FACTORY,
	  "empty* zeros* ones* full* new_* arange rand* normal uniform zero fill*"
	  " tril triu scalar_tensor eye linspace resize*" },
};

/* "aten::_softmax" -> "softmax". */
static void strip(const char *name, char *short_name, size_t size)
{
	const char *colons = strstr(name, "::");
	size_t len;

	if (colons)
		name = colons + 2;
	while (*name == '_')
		name++;
	len = strlen(name);
	while (len && name[len - 1] == '_')
		len--;
	if (len >= size)
		len = size - 1;
	memcpy(short_name, name, len);
	short_name[len] = '\0';
}

static int fits(const char *patterns, const char *name)
{
	char pattern[64];

	while (*patterns) {
		size_t len = strcspn(patterns, " ");

		memcpy(pattern, patterns, len);
		pattern[len] = '\0';
		if (fnmatch(pattern, name, 0) == 0)
			return 1;
		patterns += len;
		patterns += strspn(patterns, " ");
	}
	return 0;
}

/* Of several in one kernel the first here is what the kernel is; others are what is around it. */
static const uint8_t fused_order[] = {
	VT_OPERATOR_ATTENTION, VT_OPERATOR_LOSS,    VT_OPERATOR_NORMALISER, VT_OPERATOR_NORM,
	VT_OPERATOR_SOFTMAX,   VT_OPERATOR_CHOICE,  VT_OPERATOR_RECURRENT,  VT_OPERATOR_POOL,
	VT_OPERATOR_UPSAMPLE,    VT_OPERATOR_EMBEDDING, VT_OPERATOR_DROPOUT,  VT_OPERATOR_NONLINEAR,
	VT_OPERATOR_ADD,       VT_OPERATOR_MULTIPLY,  VT_OPERATOR_REDUCE,   VT_OPERATOR_INDEX,
	VT_OPERATOR_JOIN,      VT_OPERATOR_CAST,      VT_OPERATOR_COPY,     VT_OPERATOR_FACTORY,
};

_Static_assert(VT_NR_OPERATOR_CLASSES <= 64, "class_of_fused() has a bit for each");

/*
 * A kernel of generated code, by the operators that are fused in it.  A product there is the bias
 * of one that another kernel computed, if it is not one of a template; a mean and an inverse root
 * are a norm by hand.
 */
static enum vt_operator_class class_of_fused(const char *names)
{
	int is_template = strncmp(names, "template ", strlen("template ")) == 0;
	uint64_t classes_of = 0;
	char name[64];

	while (*names) {
		size_t len = strcspn(names, " ");

		snprintf(name, sizeof(name), "%.*s", (int)len, names);
		classes_of |= 1ull << vt_operator_class(name);
		names += len + strspn(names + len, " ");
	}
	if ((classes_of & 1ull << VT_OPERATOR_ROOT) &&
	    (classes_of & (1ull << VT_OPERATOR_REDUCE | 1ull << VT_OPERATOR_DEVIATION)))
		classes_of |= 1ull << VT_OPERATOR_NORM;
	if (is_template && (classes_of & 1ull << VT_OPERATOR_CONVOLUTION))
		return VT_OPERATOR_CONVOLUTION;
	if (is_template && (classes_of & 1ull << VT_OPERATOR_PRODUCT))
		return VT_OPERATOR_PRODUCT;
	for (size_t i = 0; i < sizeof(fused_order) / sizeof(*fused_order); i++)
		if (classes_of & 1ull << fused_order[i])
			return fused_order[i];
	return VT_OPERATOR_OTHER;
}

int vt_operator_is_loss_gradient(const char *name)
{
	return strstr(name, "log_softmax_backward") || strstr(name, "nll_loss_backward") ||
	       strstr(name, "nll_loss2d_backward") || strstr(name, "ctc_loss_backward");
}

int vt_operator_is_generated(const char *name)
{
	return strncmp(name, VT_GENERATED_PREFIX, strlen(VT_GENERATED_PREFIX)) == 0;
}

enum vt_operator_class vt_operator_class(const char *name)
{
	char short_name[64];

	if (vt_operator_is_generated(name))
		return class_of_fused(name + strlen(VT_GENERATED_PREFIX));
	strip(name, short_name, sizeof(short_name));
	/* The gradient of a norm is none; it is asked of the backward pass only by its node. */
	if (strstr(short_name, "backward"))
		return VT_OPERATOR_OTHER;
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (fits(classes[i].patterns, short_name))
			return classes[i].class;
	return VT_OPERATOR_OTHER;
}

int vt_operator_is_in_place(const char *name)
{
	size_t len = strlen(name);

	return len > 1 && name[len - 1] == '_' && name[len - 2] != '_' &&
	       !vt_operator_is_generated(name);
}
