/* SPDX-License-Identifier: MIT */
#ifndef VT_TESTS_DATABASE_BUILDER_H
#define VT_TESTS_DATABASE_BUILDER_H

/*
 * Makes databases for tests of the report side, event by event, in words instead of ids:
 *
 * 	build_alloc(b, &(struct build_event){ .size = 4096, .python = "train.py:3 main",
 * 		.node = "AddmmBackward0", .sequence = 7 });
 *
 * A Python stack is "FILE:LINE FUNCTION [TYPE@ADDRESS]" per frame, innermost first, frames
 * separated by " < "; a native one "LIBRARY!SYMBOL" per frame, separated by " < ".
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "common/kinds.h"

#define BUILD_MAIN_THREAD   100
#define BUILD_ENGINE_THREAD 200

/* The Python stack of blocks of which no test asks where they were made. */
#define BUILD_MAIN "train.py:3 main"

struct build_event {
	uint64_t size;
	uint64_t requested; /* of a block, before rounding; 0: not known */
	uint64_t stream;
	uint64_t address;  /* 0: the next free one; blocks lie in the last segment that has room */
	enum vt_kind kind; /* 0: that of build_default_kind */
	int device;
	uint32_t thread; /* 0: the engine's where a node is given, else the main one */
	const char *python;
	const char *native;
	const char *scope;
	const char *node;  /* short class name */
	uint64_t sequence; /* of the node, where one is given */
	const char *forward_python; /* where the forward call stood that made the node */
	uint64_t forward;  /* last forward sequence number; 0: none */
	enum vt_grad grad;
};

struct builder_db;

struct builder_db *build_open(const char *path);
/* Computes the peaks and writes everything; the file can be opened afterwards. */
void build_close(struct builder_db *b);

/* What allocations are from here on that do not say it; blocks at first. */
void build_default_kind(struct builder_db *b, enum vt_kind kind);

/* Each returns the event number. */
int64_t build_alloc(struct builder_db *b, const struct build_event *event);
/* A segment of the allocator, and a block made by one and the same line of a program. */
int64_t build_segment_at(struct builder_db *b, uint64_t address, uint64_t size);
int64_t build_block_at(struct builder_db *b, uint64_t address, uint64_t size);
int64_t build_free(struct builder_db *b, int64_t allocation, const struct build_event *event);
int64_t build_mark(struct builder_db *b, const char *name, enum vt_mark_kind kind,
		   enum vt_mark_source source);
/* The same with the Python stack that left it. */
int64_t build_mark_at(struct builder_db *b, const char *name, enum vt_mark_kind kind,
		      enum vt_mark_source source, const char *place);
int64_t build_oom(struct builder_db *b, const struct build_event *event);
int64_t build_map(struct builder_db *b, int64_t allocation, uint64_t address, uint64_t size,
		  enum vt_op op);

/* What a probe saw after the last event; `allocation` is what build_alloc returned. */
struct build_tensor {
	int64_t allocation;
	enum vt_role role;
	unsigned flags; /* enum vt_tensor_flag */
	unsigned probe; /* 0: the first */
	const char *name;
	const char *holder;
	const char *dtype; /* NULL: float32 */
	const char *shape;
	uint64_t offset; /* of the storage in the allocation */
};

void build_tensor(struct builder_db *b, const struct build_tensor *tensor);
/* `name` NULL: it is the root, at `root`. */
void build_module(struct builder_db *b, uint64_t address, const char *type, const char *name,
		  const char *holder, uint64_t root);
/* The life of CUDA graphs: `address` and `extra` as kinds.h says of the op. */
int64_t build_graph(struct builder_db *b, enum vt_op op, uint64_t address, uint64_t extra);
/* After the last event by so much; `process` 0: not known. */
void build_sample(struct builder_db *b, int device, int64_t after_ns, uint64_t total,
		  uint64_t process);
/* What the driver answered when it was asked. */
int64_t build_memory_info(struct builder_db *b, int device, uint64_t total, uint64_t used);
void build_run(struct builder_db *b, const char *key, const char *value);
void build_device(struct builder_db *b, int id, uint64_t total, int64_t context);

#endif
