/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/operator_classes.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

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
	  "log_softmax nll_loss* cross_entropy* kl_div *CrossEntropy*" },
	{ VT_OPERATOR_NORMALISER,
	  "logsumexp" },
	{ VT_OPERATOR_SOFTMAX,
	  "softmax safe_softmax masked_softmax" },
	{ VT_OPERATOR_CHOICE,
	  "argmax multinomial topk sort" },
	{ VT_OPERATOR_RECURRENT,
	  "*cudnn_rnn* lstm* gru* rnn_* *thnn_fused*" },
	{ VT_OPERATOR_POOL,
	  "*max_pool* *avg_pool* upsample* *pixel_shuffle *pixel_unshuffle"
	  " grid_sampler*" },
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
	  "mul div true_divide" },
	{ VT_OPERATOR_SQUARE,
	  "pow square" },
	{ VT_OPERATOR_ROOT,
	  "rsqrt sqrt" },
	{ VT_OPERATOR_DEVIATION,
	  "std std_mean var var_mean" },
	{ VT_OPERATOR_REDUCE,
	  "mean sum amax amin max min" },
	{ VT_OPERATOR_CAST,
	  "to_copy" },
	{ VT_OPERATOR_JOIN,
	  "cat stack concat hstack vstack" },
	{ VT_OPERATOR_COPY,
	  "clone copy repeat repeat_interleave flip roll constant_pad_nd *_copy"
	  " *_scatter index_put* index_add index_copy scatter scatter_add"
	  " masked_fill where neg masked_scatter" },
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

enum vt_operator_class vt_operator_class(const char *name)
{
	char short_name[64];

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

	return len > 1 && name[len - 1] == '_' && name[len - 2] != '_';
}
