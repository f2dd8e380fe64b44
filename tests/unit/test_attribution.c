/* SPDX-License-Identifier: MIT */
/*
 * Whose byte is it: one allocation per row, made and freed in the middle of three training steps.
 */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"
#include "tests/lib/database_builder.h"

#define TORCH "/usr/lib/python3/dist-packages/torch"
#define MODEL "train.py:9 Net.forward Net@1 < train.py:40 main"
#define BLOCK "train.py:20 Block.forward Block@2 < " MODEL
#define MODULE(type, address, caller)                                                              \
	TORCH "/nn/modules/x.py:5 " #type ".forward " #type "@" #address " < " caller
#define IN(type, address)                                                                          \
	TORCH "/nn/modules/x.py:5 " #type ".forward " #type "@" #address " < " BLOCK
#define CHECKPOINT TORCH "/utils/checkpoint.py:505 checkpoint < " MODEL
#define OWN	   "own.py:3 Recompute.apply < " MODEL
#define STEP TORCH "/optim/adamw.py:90 AdamW.step AdamW@7 < train.py:44 main"
/* A library's own, of none of PyTorch's classes. */
#define OWN_STEP "lib/steps.py:9 average < lib/steps.py:4 Optimizer.step < train.py:44 main"
#define OP(name)                                                                                   \
	"libtorch_cuda.so!at::native::x < libtorch_cpu.so!at::_ops::" #name                        \
	"::call(at::Tensor const&)"

enum phase { LOAD, FORWARD, BACKWARD, OPTIMIZER };
enum death { AT_ONCE, IN_STAGE, IN_BACKWARD, BEHIND_BACKWARD, BEHIND_STEP, NEVER };

static const struct row {
	const char *owner;
	const char *known_by;
	enum phase phase;
	enum death death;
	struct build_event made;
	struct build_event freed;
} rows[] = {
	/* load */
	{ "weights",
	  "frames",
	  LOAD,
	  NEVER,
	  { .python = TORCH "/nn/modules/module.py:958 Module._apply Linear@3 < train.py:30 main" },
	  { 0 } },
	{ "weights",
	  "frames",
	  LOAD,
	  NEVER,
	  { .python = "net.py:3 Net.__init__ Net@1 < train.py:29 main" },
	  { 0 } },
	{ "weights",
	  "frames",
	  LOAD,
	  NEVER,
	  { .python = TORCH "/serialization.py:100 load < train.py:29 main" },
	  { 0 } },
	{ "inputs",
	  "frames",
	  LOAD,
	  NEVER,
	  { .python = "train.py:31 main", .native = "libtorch_cpu.so!at::native::_to_copy" },
	  { 0 } },
	{ "user", "frames", LOAD, NEVER, { .python = "train.py:32 main" }, { 0 } },
	/* what an operator needs for its result: others may be made between */
	{ "workspace/other",
	  "frames",
	  FORWARD,
	  IN_STAGE,
	  { .python = MODEL, .native = OP(sum_dim_IntList) },
	  { .python = MODEL, .native = OP(sum_dim_IntList) } },
	{ "workspace/other",
	  "frames",
	  LOAD,
	  AT_ONCE,
	  { .python = "train.py:31 main", .native = OP(randperm) },
	  { 0 } },
	{ "activations/other",
	  "frames",
	  FORWARD,
	  IN_STAGE,
	  { .python = MODEL, .native = OP(sum_dim_IntList) },
	  { .python = MODEL, .native = OP(amax) } },
	{ "inputs",
	  "frames",
	  LOAD,
	  BEHIND_STEP,
	  { .python = "train.py:33 main", .native = OP(index_Tensor) },
	  { 0 } },
	{ "pinned host memory",
	  "frames",
	  LOAD,
	  NEVER,
	  { .kind = VT_KIND_PINNED, .python = "train.py:31 main" },
	  { 0 } },
	{ "unknown", "unknown", LOAD, NEVER, { .native = "libapp.so!make_grid" }, { 0 } },
	/* libraries */
	{ "workspace/cublas",
	  "frames",
	  FORWARD,
	  NEVER,
	  { .python = IN(Linear, 4),
	    .native = "libtorch_cuda.so!at::cuda::getCurrentCUDABlasHandle()" },
	  { 0 } },
	{ "workspace/cublas",
	  "frames",
	  LOAD,
	  NEVER,
	  { .kind = VT_KIND_SEGMENT, .native = "libcublas.so.13!" },
	  { 0 } },
	{ "workspace/other",
	  "frames",
	  FORWARD,
	  IN_STAGE,
	  { .python = TORCH "/_inductor/runtime/triton_heuristics.py:1185"
			    " CachingAutotuner.autotune_to_one_config < " MODEL,
	    .native = OP(empty) },
	  { 0 } },
	{ "workspace/cudnn",
	  "frames",
	  FORWARD,
	  AT_ONCE,
	  { .python = IN(Conv2d, 4), .native = "libcudnn_engines.so.9!" },
	  { 0 } },
	{ "communication",
	  "frames",
	  LOAD,
	  NEVER,
	  { .kind = VT_KIND_SEGMENT, .native = "libnccl.so.2!ncclCommInitRank" },
	  { 0 } },
	/* of a library whose name does not say what it is, in a module's constructor */
	{ "communication",
	  "scope",
	  LOAD,
	  NEVER,
	  { .kind = VT_KIND_SEGMENT,
	    .python = TORCH "/nn/parallel/distributed.py:9 DistributedDataParallel.__init__",
	    .native = "libtorch_cuda.so!take_buffers()",
	    .scope = "nccl:all_gather" },
	  { 0 } },
	/* forward: the kind of an activation is its producer's */
	{ "activations/attention",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(SelfAttention, 5) },
	  { .node = "AddmmBackward0", .sequence = 500 } },
	{ "activations/mlp",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = TORCH "/nn/l.py:1 Linear.forward Linear@8 < " IN(GatedMLP, 6) },
	  { .node = "AddmmBackward0", .sequence = 500 } },
	/* what is called a norm may hold a layer: that multiplies */
	{ "activations/mlp",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = TORCH "/nn/l.py:1 Linear.forward Linear@8 < model.py:5 LinearNorm.forward "
			    "LinearNorm@7 < " IN(GatedMLP, 6) },
	  { .node = "AddmmBackward0", .sequence = 500 } },
	{ "activations/norm",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(LayerNorm, 5) },
	  { .node = "NativeLayerNormBackward0", .sequence = 500 } },
	{ "activations/embedding",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(Embedding, 5) },
	  { .node = "AddBackward0", .sequence = 500 } },
	/* behind it, where autograd records: of nothing that has a gradient, of what has one */
	{ "activations/embedding",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = "net.py:8 Net.forward", .forward = 327, .grad = VT_GRAD_ENABLED },
	  { .node = "EmbeddingBackward0", .sequence = 327 } },
	{ "activations/other",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = "net.py:9 Net.forward", .forward = 327, .grad = VT_GRAD_ENABLED },
	  { .node = "MulBackward0", .sequence = 500 } },
	{ "activations/embedding",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = "net.py:10 Net.forward", .forward = 329, .grad = VT_GRAD_ENABLED },
	  { .node = "EmbeddingBackward0", .sequence = 329 } },
	{ "activations/embedding",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = "net.py:10 Net.forward", .forward = 329, .grad = VT_GRAD_ENABLED },
	  { .node = "MulBackward0", .sequence = 500 } },
	{ "activations/conv",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(Conv2d, 5) },
	  { .node = "ReluBackward0", .sequence = 500 } },
	{ "activations/conv",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(ReLU, 13) }, /* beside the convolution above */
	  { .node = "AddmmBackward0", .sequence = 500 } },
	{ "activations/conv",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(SiLU, 14), .native = OP(silu) },
	  { .node = "AddmmBackward0", .sequence = 500 } },
	{ "activations/attention",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(Linear, 9) },
	  { .node = "ScaledDotProductFlashAttentionBackward0", .sequence = 500 } },
	{ "activations/mlp",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = BLOCK, .native = OP(gelu) },
	  { .node = "AddmmBackward0", .sequence = 500 } },
	{ "activations/residual",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = BLOCK, .native = OP(add_Tensor) },
	  { .node = "NativeLayerNormBackward0", .sequence = 500 } },
	{ "activations/other",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = BLOCK },
	  { .node = "MulBackward0", .sequence = 500 } },
	{ "activations/attention",
	  "frames",
	  FORWARD,
	  AT_ONCE,
	  { .python = IN(MultiheadAttention, 5) },
	  { 0 } },
	{ "activations/mask",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = MODEL, .native = OP(bitwise_and_Tensor) },
	  { .node = "ScaledDotProductFlashAttentionBackward0", .sequence = 500 } },
	{ "activations/other",
	  "lifetime",
	  FORWARD,
	  IN_STAGE,
	  { .python = "train.py:41 main" },
	  { 0 } },
	/* a variable holds it until the next step has made another */
	{ "activations/other",
	  "lifetime",
	  FORWARD,
	  BEHIND_STEP,
	  { .python = "train.py:41 main", .native = OP(relu) },
	  { 0 } },
	{ "buffers", "lifetime", FORWARD, NEVER, { .python = IN(RotaryCache, 5) }, { 0 } },
	{ "kv cache",
	  "frames",
	  FORWARD,
	  BEHIND_STEP,
	  { .python = "net.py:9 KeyValueCache.update < " IN(SelfAttention, 5) },
	  { 0 } },
	{ "kv cache",
	  "frames",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = "lib/cache_utils.py:9 DynamicLayer.update < " IN(SelfAttention, 5) },
	  { .node = "ScaledDotProductFlashAttentionBackward0", .sequence = 500 } },
	{ "inputs",
	  "frames",
	  FORWARD,
	  BEHIND_STEP,
	  { .python = "train.py:39 main", .native = OP(_to_copy) },
	  { 0 } },
	{ "inputs",
	  "frames",
	  FORWARD,
	  BEHIND_STEP,
	  { .python = "train.py:39 train_one_step Net@1 < train.py:50 main",
	    .native = OP(_to_copy) },
	  { 0 } },
	{ "inputs",
	  "frames",
	  LOAD,
	  NEVER,
	  { .python = "hooks.py:61 Net.transfer_batch_to_device Net@1 < train.py:50 main",
	    .native = OP(_to_copy) " < libtorch_python.so!THPVariable_to" },
	  { 0 } },
	{ "inputs",
	  "scope",
	  FORWARD,
	  BEHIND_STEP,
	  { .python = "train.py:38 main",
	    .scope = "enumerate(DataLoader)#_SingleProcess.__next__" },
	  { 0 } },
	/* a layer's own sum is no residual, what a norm keeps was not made by it, and ... */
	{ "activations/mlp",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(Linear, 14), .native = OP(add_Tensor) },
	  { .node = "AddmmBackward0" } },
	{ "activations/mlp",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(Linear, 14), .native = OP(addmm) },
	  { .node = "BatchNormBackward0" } },
	/* ... what drops some of it is what it was */
	{ "activations/mlp",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(Dropout, 15), .native = OP(native_dropout) },
	  { .node = "MmBackward0" } },
	{ "activations/residual",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = BLOCK, .native = OP(add_Tensor) },
	  { .node = "AddmmBackward0" } },
	/* what holds attention and a feed-forward is neither, whatever it is called */
	{ "activations/attention",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = MODULE(SelfAttention, 31, MODULE(CrossAttnMoeBlock, 30, BLOCK)),
	    .native = OP(mul_Tensor) },
	  { .node = "AddmmBackward0" } },
	{ "activations/mlp",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = MODULE(SparseMoe, 32, MODULE(CrossAttnMoeBlock, 30, BLOCK)),
	    .native = OP(mul_Tensor) },
	  { .node = "AddmmBackward0" } },
	{ "activations/residual",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = MODULE(CrossAttnMoeBlock, 30, BLOCK), .native = OP(add_Tensor) },
	  { .node = "AddmmBackward0" } },
	/* ... nor what holds attention and convolutions: these are no part of an attention */
	{ "activations/attention",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = MODULE(SelfAttention, 61, MODULE(AttnDownBlock, 60, BLOCK)),
	    .native = OP(mul_Tensor) },
	  { .node = "AddmmBackward0" } },
	{ "activations/conv",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = MODULE(Conv2d, 63, MODULE(Resnet, 62, MODULE(AttnDownBlock, 60, BLOCK))),
	    .native = OP(cudnn_convolution) },
	  { .node = "AddmmBackward0" } },
	{ "activations/conv",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = MODULE(SiLU, 64, MODULE(Resnet, 62, MODULE(AttnDownBlock, 60, BLOCK))),
	    .native = OP(silu) },
	  { .node = "AddmmBackward0" } },
	/* an attention whose queries are made by convolutions is one */
	{ "activations/attention",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = MODULE(Conv2d, 67,
			     MODULE(QueryAttention, 66, MODULE(OuterAttention, 65, BLOCK))),
	    .native = OP(cudnn_convolution) },
	  { .node = "AddmmBackward0" } },
	{ "activations/attention",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = MODULE(Output, 68, MODULE(OuterAttention, 65, BLOCK)),
	    .native = OP(mul_Tensor) },
	  { .node = "AddmmBackward0" } },
	/* attention that computes its bias by a feed-forward is attention */
	{ "activations/mlp",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = MODULE(BiasMlp, 34, MODULE(WindowAttention, 33, BLOCK)),
	    .native = OP(mul_Tensor) },
	  { .node = "AddmmBackward0" } },
	{ "activations/attention",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = MODULE(WindowAttention, 33, BLOCK), .native = OP(add_Tensor) },
	  { .node = "AddmmBackward0" } },
	/* autocast: a parameter's cast is told from an activation's by what its node yields */
	{ "weights/cast",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(Linear, 9),
	    .forward = 601,
	    .native = "libtorch_cpu.so!at::autocast::cached_cast < "
		      "libtorch_cpu.so!at::_ops::_to_copy::call" },
	  { .node = "AddmmBackward0", .sequence = 500 } },
	/* the cast of a batch: autograd does not record it, the number is the parameter's */
	{ "activations/mlp",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(Linear, 9),
	    .forward = 601,
	    .native = "libtorch_cpu.so!at::autocast::cached_cast < "
		      "libtorch_cpu.so!at::_ops::_to_copy::call" },
	  { .node = "AddmmBackward0", .sequence = 500 } },
	{ "weights/cast",
	  "frames",
	  FORWARD,
	  IN_STAGE,
	  { .python = IN(Linear, 9),
	    .forward = 602,
	    .native = "libtorch_cpu.so!at::autocast::cached_cast < "
		      "libtorch_cpu.so!at::_ops::_to_copy::call" },
	  { .python = TORCH "/amp/autocast_mode.py:360 autocast.__exit__ < train.py:42 main" } },
	{ "activations/norm",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(LayerNorm, 5),
	    .forward = 603,
	    .native = "libtorch_cpu.so!at::autocast::cached_cast < "
		      "libtorch_cpu.so!at::_ops::_to_copy::call" },
	  { .node = "AddmmBackward0", .sequence = 500 } },
	{ "gradients",
	  "autograd",
	  BACKWARD,
	  BEHIND_STEP,
	  { .node = "ToCopyBackward0", .sequence = 601 },
	  { 0 } },
	/* the same where the .grad is there: what is added to it is let go */
	{ "weights/cast",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(Linear, 9),
	    .forward = 604,
	    .native = "libtorch_cpu.so!at::autocast::cached_cast < "
		      "libtorch_cpu.so!at::_ops::_to_copy::call" },
	  { .node = "AddmmBackward0", .sequence = 500 } },
	{ "gradients",
	  "autograd",
	  BACKWARD,
	  IN_BACKWARD,
	  { .node = "ToCopyBackward0", .sequence = 604 },
	  { .node = "AccumulateGrad" } },
	{ "activation gradients",
	  "autograd",
	  BACKWARD,
	  IN_BACKWARD,
	  { .node = "ToCopyBackward0", .sequence = 603 },
	  { .node = "NativeLayerNormBackward0", .sequence = 400 } },
	/* logits: from the last matrix product before the loss to the loss */
	{ "activations/norm",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(LayerNorm, 5), .forward = 799 },
	  { .node = "MmBackward0", .sequence = 800 } },
	{ "logits",
	  "autograd",
	  FORWARD,
	  BEHIND_BACKWARD,
	  { .python = MODEL, .forward = 800 },
	  { 0 } },
	{ "logits",
	  "autograd",
	  FORWARD,
	  IN_STAGE,
	  { .python = "train.py:41 main", .forward = 801 },
	  { 0 } },
	{ "logits",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = "train.py:41 main", .forward = 803 },
	  { .node = "LogSoftmaxBackward0", .sequence = 803 } },
	{ "logits",
	  "autograd",
	  BACKWARD,
	  IN_BACKWARD,
	  { .node = "NllLossBackward0", .sequence = 804 },
	  { .node = "LogSoftmaxBackward0", .sequence = 803 } },
	{ "logits",
	  "autograd",
	  BACKWARD,
	  IN_BACKWARD,
	  { .node = "ToCopyBackward0", .sequence = 802 },
	  { .node = "MmBackward0", .sequence = 800 } },
	{ "activation gradients",
	  "autograd",
	  BACKWARD,
	  IN_BACKWARD,
	  { .node = "MmBackward0", .sequence = 800 },
	  { .node = "NativeLayerNormBackward0", .sequence = 799 } },
	{ "gradients",
	  "autograd",
	  BACKWARD,
	  BEHIND_STEP,
	  { .node = "MmBackward0", .sequence = 800 },
	  { 0 } },
	/* a loss works by smaller operators */
	{ "logits",
	  "autograd",
	  FORWARD,
	  IN_STAGE,
	  { .python = "train.py:41 main",
	    .forward = 806,
	    .native = "libtorch_cpu.so!at::_ops::mul_Tensor::call(at::Tensor const&) < "
		      "libtorch_cpu.so!at::_ops::kl_div::call(at::Tensor const&)" },
	  { 0 } },
	/* backward */
	{ "gradients",
	  "autograd",
	  BACKWARD,
	  BEHIND_STEP,
	  { .node = "AddmmBackward0", .sequence = 400 },
	  { 0 } },
	{ "gradients", "autograd", BACKWARD, NEVER, { .node = "AccumulateGrad" }, { 0 } },
	{ "gradients",
	  "frames",
	  LOAD,
	  NEVER,
	  { .native = "libtorch_cpu.so!c10d::Reducer::initialize_buckets(std::vector<int>)" },
	  { 0 } },
	{ "workspace/attention",
	  "autograd",
	  BACKWARD,
	  AT_ONCE,
	  { .node = "ScaledDotProductFlashAttentionBackward0", .sequence = 410 },
	  { .node = "ScaledDotProductFlashAttentionBackward0", .sequence = 410 } },
	{ "workspace/other",
	  "autograd",
	  BACKWARD,
	  AT_ONCE,
	  { .node = "AddmmBackward0", .sequence = 411 },
	  { .node = "AddmmBackward0", .sequence = 411 } },
	{ "activation gradients",
	  "frames",
	  BACKWARD,
	  IN_BACKWARD,
	  { .python = TORCH "/autograd/__init__.py:120 _make_grads < " TORCH
			    "/autograd/__init__.py:350 backward < train.py:43 main" },
	  { 0 } },
	{ "activations/mlp",
	  "autograd",
	  BACKWARD,
	  IN_BACKWARD,
	  { .node = "CheckpointFunctionBackward", .sequence = 412, .python = IN(FeedForward, 6) },
	  { .node = "GeluBackward0", .sequence = 3 } },
	/* what a checkpointed part starts from, whoever wrote the checkpoint */
	{ "activations/checkpoint",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(Linear, 9) },
	  { .node = "PyNode", .sequence = 420, .forward_python = CHECKPOINT } },
	{ "activations/checkpoint",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(Linear, 9) },
	  { .node = "NativeLayerNormBackward0",
	    .sequence = 421,
	    .forward_python = TORCH "/nn/n.py:1 LayerNorm.forward LayerNorm@5 < " CHECKPOINT } },
	{ "activations/checkpoint",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(Linear, 9) },
	  { .node = "PyNode", .sequence = 422, .forward_python = OWN } },
	{ "activations/mlp",
	  "autograd",
	  BACKWARD,
	  IN_BACKWARD,
	  { .node = "PyNode",
	    .sequence = 422,
	    .forward_python = OWN,
	    .python = TORCH "/nn/modules/x.py:5 MLP.forward MLP@6 < own.py:9 backward < " TORCH
			    "/autograd/function.py:311 BackwardCFunction.apply" },
	  { .node = "GeluBackward0", .sequence = 3 } },
	/* a function that runs no forward again; one called by a module's own training loop */
	{ "activations/mlp",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(FeedForward, 6) },
	  { .node = "PyNode", .sequence = 423, .forward_python = OWN } },
	{ "activations/mlp",
	  "autograd",
	  FORWARD,
	  IN_BACKWARD,
	  { .python = IN(FeedForward, 6) },
	  { .node = "PyNode", .sequence = 424, .forward_python = OWN } },
	{ "activation gradients",
	  "autograd",
	  BACKWARD,
	  IN_BACKWARD,
	  { .node = "PyNode",
	    .sequence = 424,
	    .forward_python = OWN,
	    .python = "own.py:9 backward < " TORCH
		      "/autograd/function.py:311 BackwardCFunction.apply < "
		      "train.py:12 Net.training_step Net@1 < train.py:40 main" },
	  { .node = "MulBackward0", .sequence = 4 } },
	/* what a node makes is of the kind of the module that made the node */
	{ "activation gradients",
	  "autograd",
	  BACKWARD,
	  BEHIND_STEP,
	  { .node = "MulBackward0", .sequence = 425, .forward_python = IN(LayerNorm, 5) },
	  { .node = "MulBackward0", .sequence = 901 } },
	/* optimizer */
	{ "optimizer",
	  "scope",
	  OPTIMIZER,
	  NEVER,
	  { .python = STEP, .scope = "Optimizer.step#AdamW.step" },
	  { 0 } },
	{ "workspace/optimizer",
	  "scope",
	  OPTIMIZER,
	  IN_STAGE,
	  { .python = STEP, .scope = "Optimizer.step#AdamW.step" },
	  { .scope = "Optimizer.step#AdamW.step" } },
	{ "optimizer", "frames", OPTIMIZER, NEVER, { .python = STEP }, { 0 } },
	{ "optimizer", "frames", OPTIMIZER, NEVER, { .python = OWN_STEP }, { 0 } },
	{ "workspace/optimizer",
	  "frames",
	  OPTIMIZER,
	  IN_STAGE,
	  { .python = STEP },
	  { .python = STEP } },
};

static struct {
	int64_t events[VT_ARRAY_SIZE(rows)];
} g;

static void make(struct builder_db *b, enum phase phase)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(rows); i++) {
		struct build_event event = rows[i].made;

		if (rows[i].phase != phase)
			continue;
		event.size = 512 * (i + 1);
		/* Autograd numbers what a forward does; the rows that care say their number. */
		if (phase == FORWARD && !event.forward)
			event.forward = 310 + i;
		g.events[i] = build_alloc(b, &event);
		if (rows[i].death == AT_ONCE)
			build_free(b, g.events[i], rows[i].freed.node ? &rows[i].freed : &event);
	}
}

static void end(struct builder_db *b, enum phase phase, enum death death)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(rows); i++)
		if (rows[i].death == death && (death != IN_STAGE || rows[i].phase == phase))
			build_free(b, g.events[i], &rows[i].freed);
}

/* A plain step that shows its stages; the rows live in the second of three. */
static void step(struct builder_db *b, int has_rows)
{
	int64_t kept = build_alloc(
		b, &(struct build_event){ .size = 512, .python = BLOCK, .forward = 300 });

	if (has_rows) {
		make(b, FORWARD);
		end(b, FORWARD, IN_STAGE);
	}
	build_free(b, kept, &(struct build_event){ .node = "AddmmBackward0", .sequence = 300 });
	if (has_rows) {
		make(b, BACKWARD);
		end(b, BACKWARD, IN_BACKWARD);
		end(b, BACKWARD, IN_STAGE);
	}
	build_mark(b, "Optimizer.step#AdamW.step", VT_MARK_BEGIN, VT_SOURCE_RECORD_FUNCTION);
	if (has_rows) {
		end(b, BACKWARD, BEHIND_BACKWARD);
		make(b, OPTIMIZER);
		end(b, OPTIMIZER, IN_STAGE);
	}
	build_mark(b, "Optimizer.step#AdamW.step", VT_MARK_END, VT_SOURCE_RECORD_FUNCTION);
	kept = build_alloc(b, &(struct build_event){ .size = 512, .python = "train.py:45 main" });
	build_free(b, kept, &(struct build_event){ .python = "train.py:45 main" });
	if (has_rows)
		end(b, OPTIMIZER, BEHIND_STEP);
}

static void every_row_gets_its_owner(void **state)
{
	struct builder_db *b = build_open("training.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	int wrong = 0;

	(void)state;
	make(b, LOAD);
	step(b, 0);
	step(b, 1);
	step(b, 0);
	build_close(b);
	if (vt_analysis_open(&analysis, "training.db", NULL, &diag))
		fail_msg("%s", diag.text);

	for (uint32_t i = 0; i < analysis.model.nr_allocations; i++)
		for (size_t r = 0; r < VT_ARRAY_SIZE(rows); r++) {
			struct vt_verdict verdict;
			const char *owner, *known_by;

			if (analysis.model.allocations[i].event != g.events[r])
				continue;
			verdict = vt_attribution_judge(&analysis.attribution, i);
			owner = vt_attribution_owner(&analysis.attribution, verdict.owner);
			known_by = vt_evidence_provenances[verdict.provenance];
			if (!strcmp(owner, rows[r].owner) && !strcmp(known_by, rows[r].known_by))
				continue;
			print_error("row %zu: %s by %s, not %s by %s (rule %s)\n", r, rows[r].owner,
				    rows[r].known_by, owner, known_by,
				    verdict.rule ? analysis.rules.rules[verdict.rule - 1].name
						 : "none");
			wrong++;
		}
	assert_int_equal(wrong, 0);
	vt_analysis_close(&analysis);
}

/* Asked for from the last block on, as nobody who judges all of them would come to them. */
static void owners_have_the_same_numbers_whatever_was_judged_before(void **state)
{
	struct builder_db *b = build_open("training.db");
	struct vt_analysis asked, judged;
	struct vt_diag diag = { 0 };

	(void)state;
	make(b, LOAD);
	step(b, 1);
	build_close(b);
	if (vt_analysis_open(&asked, "training.db", NULL, &diag) ||
	    vt_analysis_open(&judged, "training.db", NULL, &diag))
		fail_msg("%s", diag.text);

	vt_attribution_judge_all(&judged.attribution);
	for (uint32_t i = asked.model.nr_allocations; i-- > 0;) {
		struct vt_verdict verdict = vt_attribution_judge(&asked.attribution, i);
		struct vt_verdict other = vt_attribution_judge(&judged.attribution, i);

		assert_int_equal(other.owner, verdict.owner);
		assert_string_equal(vt_attribution_owner(&judged.attribution, other.owner),
				    vt_attribution_owner(&asked.attribution, verdict.owner));
	}
	vt_analysis_close(&asked);
	vt_analysis_close(&judged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_row_gets_its_owner, unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(
			owners_have_the_same_numbers_whatever_was_judged_before, unit_enter,
			unit_leave),
	};

	return cmocka_run_group_tests_name("attribution", tests, NULL, NULL);
}
