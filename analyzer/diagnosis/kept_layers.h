/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_KEPT_LAYERS_H
#define VT_ANALYZER_KEPT_LAYERS_H

/*
 * What each layer of a program keeps for its backward pass: the blocks that activation
 * checkpointing of that layer would not.  Layers are numbered modules ("model.layers.3").
 */

#include "analyzer/diagnosis/finding_context.h"

/* What one call of a layer keeps in one forward span. */
struct vt_kept_layer {
	const char *path; /* one address for all layers of that path */
	uint32_t span;
	uint32_t call;          /* counts those of the span, from 0 */
	int64_t first_event;    /* the first of its blocks */
	int64_t made_event;     /* the last of them */
	int64_t backward_event; /* the first of them to go */
	uint32_t input;         /* the one that a checkpoint keeps */
	uint32_t nr;
	uint64_t bytes;         /* of all, the input among them */
	uint64_t output_bytes;  /* the next layer's input, kept or not; 0: not known */
};

VT_VECTOR_DECLARE(vt_kept_layer_list, struct vt_kept_layer);

/* A block and the layer that it belongs to. */
struct vt_kept_block {
	uint32_t allocation;
	uint32_t layer; /* index */
};

VT_VECTOR_DECLARE(vt_kept_block_list, struct vt_kept_block);

/* A numbered module; keys are those of paths up to the number, and before it. */
struct vt_kept_child {
	struct vt_key path, parent;
};

VT_VECTOR_DECLARE(vt_kept_child_list, struct vt_kept_child);

/* The path of a module, read once for all of its allocations. */
struct vt_kept_module {
	char *path;        /* cut behind the layer's number, once `is_cut`; NULL: unknown */
	const char *layer; /* that of the first module in the layer; NULL: in none */
	uint8_t is_cut;
};

VT_VECTOR_DECLARE(vt_kept_module_list, struct vt_kept_module);

struct vt_kept_layers {
	struct vt_kept_layer_list layers; /* in the order of their first blocks */
	struct vt_kept_block_list blocks; /* in their order */
	struct vt_kept_child_list children; /* each once */
	struct vt_kept_module_list modules;
	struct vt_map sources;  /* by vt_module_path_source: index of the module */
	struct vt_map paths;    /* by a layer's path: index of the first module in it */
	struct vt_map last;     /* by vt_kept_layer.path: index of the last of its layers */
	struct vt_map below;    /* by a child's path: the most of one list below it, or 0 */
	struct vt_map counts;   /* by the path before the number: its numbered children */
	struct vt_map wrapping; /* the same: those with a longer list below them */
};

/* Whether the run recomputes layers already: its layers say nothing then. */
int vt_kept_layers_has_checkpoints(const struct vt_finding_context *context);

/* Of all spans, on that device.  *kept is zeroed before, vt_kept_layers_release() after. */
void vt_kept_layers_init(struct vt_kept_layers *kept, const struct vt_finding_context *context);
void vt_kept_layers_release(struct vt_kept_layers *kept);

/* The layer in whose module an allocation was made; NULL: in none. */
const char *vt_kept_layers_path(struct vt_kept_layers *kept,
				const struct vt_finding_context *context, uint32_t allocation);

/* The first call of that layer which made an allocation for its backward pass; NULL: none did. */
const struct vt_kept_layer *vt_kept_layers_of(struct vt_kept_layers *kept,
					      const struct vt_finding_context *context,
					      uint32_t allocation);

#endif
