/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MODEL_H
#define VT_ANALYZER_MODEL_H

/*
 * A database in memory: the facts, and nothing that is a judgement.  Allocations are sorted by
 * event number; everything else refers to them by index.  Read once, never changed afterwards.
 * Recorded texts are printable (base/printable.h): marks, file names and classes are a program's.
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "analyzer/base/diag.h"
#include "analyzer/model/allocation_rows.h"
#include "analyzer/model/folded.h"
#include "analyzer/model/frames.h"
#include "analyzer/model/operator_calls.h"
#include "analyzer/model/string_table.h"
#include "common/kinds.h"

/* Events that neither create nor destroy memory; `extra` is the handle of a map. */
struct vt_other_event {
	int64_t event;
	int64_t time_ns;
	uint64_t address;
	uint64_t size_bytes;
	uint64_t extra;
	uint32_t thread;
	uint8_t op;   /* enum vt_op */
	uint8_t kind; /* enum vt_kind */
};

/* Driver memory that a framework's allocator cut into blocks. */
struct vt_segment {
	uint32_t allocation; /* index */
	uint32_t capture;    /* a graph pool's: the pool's first capture, from 1; else 0 */
};

/* One recording of a CUDA graph. */
struct vt_capture {
	int64_t event;
	int64_t end_event;  /* VT_NEVER: it did not end */
	int64_t last_end;   /* the latest end of the captures up to this one */
	int64_t gone_event; /* when the last graph made of it was destroyed; VT_NEVER: not */
	int64_t pool_gone_event; /* of a pool's first one: the latest of these in its pool */
	uint64_t graph;
	uint32_t thread;
	uint32_t pool; /* number, from 1, of the first capture that shares memory with it */
};

/* What of a block lies in another segment than its first: granules that are mapped side by side. */
struct vt_spill {
	uint32_t block;   /* index of the allocation */
	uint32_t segment; /* index of the allocation */
	uint64_t bytes;
};

/* What pools keep without its being allocated changed; idle_pools.h. */
struct vt_pool_change {
	int64_t event;
	int64_t time_ns; /* since the start of the recording */
	int64_t more_bytes; /* than before, of both */
	uint64_t pool_bytes; /* after it */
	uint64_t graph_bytes;
	int16_t device;
};

struct vt_mark {
	int64_t event;
	int64_t time_ns;
	uint32_t thread;
	uint32_t name;
	uint32_t python_stack;
	uint8_t kind;
	uint8_t source;
};

struct vt_out_of_memory {
	int64_t event;
	int64_t time_ns;
	uint64_t requested_bytes; /* before rounding, or rounded where that is not known */
	uint64_t allocated_bytes;
	uint64_t reserved_bytes;
	uint64_t stream;
	uint32_t grad; /* enum vt_grad */
	uint32_t thread;
	uint32_t native_stack;
	uint32_t python_stack;
	uint32_t forward_python_stack; /* as of an allocation */
	uint32_t scope;
	uint32_t node_class;
	int16_t device;
};

struct vt_device {
	int16_t id;
	uint8_t is_simulated;
	uint8_t has_context; /* context_bytes is known */
	char *name;
	uint64_t total_bytes;
	uint64_t context_bytes;
};

/* What was in use on a device at one time. */
struct vt_device_sample {
	int64_t time_ns; /* since the start of the recording */
	uint64_t total_used_bytes;
	uint64_t process_used_bytes;
	uint64_t recorded_bytes; /* held from the driver by then; found by samples.h */
	int16_t device;
	uint8_t has_process; /* process_used_bytes is known */
	uint8_t is_quiet;    /* nothing moved around then; found by samples.h */
};

/* What cuMemGetInfo said, asked by the program or by the recorder. */
struct vt_memory_info {
	int64_t time_ns;
	int64_t since_ns; /* nothing came or went from then on; found by samples.h */
	uint64_t used_bytes; /* of the device, by everybody */
	uint64_t recorded_bytes; /* held from the driver by then; found by samples.h */
	uint64_t rounding_bytes; /* what its pages had beyond that; found by samples.h */
	int16_t device;
};

/* What may change the size of a device's context: contexts, modules and libraries, limits. */
struct vt_context_event {
	int64_t event;
	int64_t time_ns;     /* since the start of the recording */
	uint64_t address;    /* handle; of a limit that of the context */
	uint64_t size_bytes; /* of a limit its value */
	uint64_t extra;      /* of a limit which one, as CUlimit */
	uint32_t native_stack;
	uint32_t python_stack;
	int16_t device; /* -1: not known */
	uint8_t op;     /* enum vt_op */
	uint8_t kind;   /* enum vt_kind */
};

/* What pages of the driver have beyond the allocations in them, from that time on. */
struct vt_rounding {
	int64_t time_ns;
	uint64_t bytes;
	int16_t device;
};

struct vt_peak {
	int64_t event;
	uint64_t used_bytes;         /* without the context */
	int64_t max_allocated_event; /* instant of most block bytes */
	uint64_t max_allocated_bytes;
	int16_t device;
};

/* One look of the probe at the program's own objects. */
struct vt_probe {
	int64_t event; /* the last one before its end */
	int64_t time_ns;
	int64_t duration_ns;
	uint32_t id;
	uint32_t reason;
};

/* A storage that was alive at `event`, under one of its names; names.h finds the allocation. */
struct vt_tensor {
	int64_t event;
	uint64_t address; /* of the storage */
	uint64_t size_bytes;
	uint32_t probe;
	uint32_t name;   /* string ids: "layers.3.mlp.up_proj.weight" */
	uint32_t holder; /* where its root was found: "main: model"; of variables the function */
	uint32_t dtype;
	uint32_t shape;
	int16_t device;
	uint8_t role;  /* enum vt_role */
	uint8_t flags; /* enum vt_tensor_flag */
};

/* An nn.Module; `address` is what frames have as self_address. */
struct vt_torch_module {
	int64_t event;
	uint64_t address;
	uint64_t root_address;
	uint32_t probe;
	uint32_t class_name; /* string ids */
	uint32_t name;       /* path from its root; 0: it is the root */
	uint32_t holder;
};

struct vt_model {
	struct vt_db *db; /* borrowed; the caller keeps it open */
	struct vt_string_table strings;
	struct vt_frames frames;
	struct vt_allocation *allocations;
	uint32_t nr_allocations;
	struct vt_allocation_times times; /* of the allocations, as the next two */
	struct vt_callers callers;
	struct vt_interned commons;
	uint32_t nr_commons; /* more than any number of theirs */
	struct vt_operator_calls calls;
	struct vt_other_event *events;
	uint32_t nr_events;
	struct vt_mark *marks;
	uint32_t nr_marks;
	struct vt_out_of_memory *ooms;
	uint32_t nr_ooms;
	struct vt_device *devices;
	uint32_t nr_devices;
	struct vt_peak *peaks;
	uint32_t nr_peaks;
	struct vt_probe *probes;
	uint32_t nr_probes;
	struct vt_tensor *tensors;
	uint32_t nr_tensors;
	struct vt_torch_module *modules;
	uint32_t nr_modules;
	struct vt_segment *segments; /* by allocation; found by containers.h, as the spills */
	uint32_t nr_segments;
	struct vt_spill *spills; /* by block */
	uint32_t nr_spills;
	struct vt_capture *captures; /* by event; found by captures.h */
	uint32_t nr_captures;
	struct vt_device_sample *samples; /* by time */
	uint32_t nr_samples;
	struct vt_memory_info *infos; /* by time */
	uint32_t nr_infos;
	struct vt_context_event *context_events; /* by event */
	uint32_t nr_context_events;
	struct vt_rounding *roundings; /* by device, then time; found by samples.h */
	uint32_t nr_roundings;
	struct vt_pool_change *pool_changes; /* by event; found by idle_pools.h */
	uint32_t nr_pool_changes;
	struct vt_folded folded;
	int64_t last_event;
	int64_t start_time_ns;
};

/* Returns 0, or -1 with `diag` filled; vt_model_release is to be called in both cases. */
int vt_model_load(struct vt_model *model, struct vt_db *db, struct vt_diag *diag);
/* The same of devices, samples and what the driver gave only: samples.h asks for no more. */
int vt_model_load_device_use(struct vt_model *model, struct vt_db *db, struct vt_diag *diag);
void vt_model_release(struct vt_model *model);

/* When an allocation of the model was made, and freed if it was; since the recording's start. */
int64_t vt_model_made_ns(const struct vt_model *model, const struct vt_allocation *a);
int64_t vt_model_freed_ns(const struct vt_model *model, const struct vt_allocation *a);
/* NULL: unknown, none. */
const struct vt_device *vt_model_device(const struct vt_model *model, int device);
const struct vt_peak *vt_model_peak(const struct vt_model *model, int device);
/* The most that was allocated: in blocks, or without an allocator what the driver gave. */
uint64_t vt_model_most_allocated(const struct vt_peak *peak);
/* Tells each struct vt_allocation_common of the model once, in no order. */
void vt_model_each_common(const struct vt_model *model,
			  void (*tell)(void *context, const void *common), void *context);
const char *vt_model_text(const struct vt_model *model, uint32_t string);

static inline int vt_allocation_is_live(const struct vt_allocation *a, int64_t event)
{
	return a->event <= event && a->freed_event > event;
}

/* Device memory that the driver counts as used by this process. */
static inline int vt_allocation_is_driver(const struct vt_allocation *a)
{
	return vt_kind_is_driver(a->common->kind);
}

/* What was asked for: a block may have a tail that was not worth cutting off. */
static inline uint64_t vt_allocation_asked_bytes(const struct vt_allocation *a)
{
	return a->common->requested_bytes ? a->common->requested_bytes : a->common->size_bytes;
}

/* What gets an owner: blocks, and driver memory that no framework's allocator cuts into blocks. */
static inline int vt_allocation_is_owned(const struct vt_allocation *a)
{
	return a->common->kind == VT_KIND_BLOCK || (vt_allocation_is_driver(a) && !a->holds_blocks);
}

#endif
