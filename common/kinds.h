/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_KINDS_H
#define VT_COMMON_KINDS_H

/*
 * The words of the record: what happened (op) to which kind of memory, and where a mark came from.
 * One list each; the number is stored in journals and databases and never changes, the text is what
 * reports print.
 */

#define VT_OPS(X)                                                                                  \
	X(ALLOC, 1, "alloc")                                                                       \
	X(FREE, 2, "free")                                                                         \
	X(FREE_FAILED, 3, "free_failed")     /* takes back the last free of that address */        \
	X(RESERVE, 4, "reserve")             /* address space only */                              \
	X(UNRESERVE, 5, "unreserve")                                                               \
	X(MAP, 6, "map")                     /* address = where, extra = handle */                 \
	X(UNMAP, 7, "unmap")                                                                       \
	X(RELEASE, 8, "release")             /* one reference of a vmm handle dropped */           \
	X(RETAIN, 9, "retain")                                                                     \
	X(OUT_OF_MEMORY, 10, "out_of_memory") /* size = what was asked for */                      \
	X(MEMORY_INFO, 11, "memory_info")    /* size = total bytes, extra = free ones: of the */   \
					     /* device (segment), of a pool, for graphs */         \
	X(CAPTURE_BEGIN, 12, "capture_begin") /* a stream (address) records a CUDA graph */        \
	X(CAPTURE_END, 13, "capture_end")    /* extra = the graph, 0: the capture was invalid */   \
	X(INSTANTIATE, 14, "instantiate")    /* address = executable graph, extra = graph */       \
	X(DESTROY, 15, "destroy")            /* of a graph, executable graph, context, pool */     \
	X(CREATE, 16, "create")              /* of a context or pool: address = its handle */      \
	X(BIND, 17, "bind")                  /* address = multicast object, extra = what to it */  \
	X(UNBIND, 18, "unbind")                                                                    \
	X(FREE_NODE, 19, "free_node")        /* a graph frees the address when it runs */          \
	X(TRIM, 20, "trim")                  /* of a pool, or of a device's graph memory */        \
	X(SET, 21, "set")                    /* a pool's attribute or a limit: extra = which */    \
	X(USE, 22, "use")                    /* the device's pool from now on: address = pool */   \
	X(LOAD, 23, "load")                  /* of a module or library: address = its handle */    \
	X(UNLOAD, 24, "unload")                                                                    \
	X(LOSS, 25, "loss")                  /* size = events lost before it            */         \
	X(READ, 26, "read")                  /* written at an end with an error: size = zeros */   \
					     /* read from the simulated device, extra = when */

/* The last word: whether it is device memory that the driver counts as used by the process. */
#define VT_KINDS(X)                                                                                \
	X(BLOCK, 1, "block", 0)        /* a framework allocator's piece of a segment */            \
	X(SEGMENT, 2, "segment", 1)    /* device memory from the driver (cuMemAlloc) */            \
	X(VMM, 3, "vmm", 1)            /* physical memory behind a handle (cuMemCreate) */         \
	X(POOL, 4, "pool", 1)          /* stream-ordered (cuMemAllocAsync) */                      \
	X(MANAGED, 5, "managed", 1)                                                                \
	X(PINNED, 6, "pinned", 0)      /* page-locked host memory, or host memory registered */    \
	X(ARRAY, 7, "array", 1)                                                                    \
	X(IPC, 8, "ipc", 0)            /* of another process, at an address here */                \
	X(GRAPH, 9, "graph", 1)        /* of a CUDA graph's allocation nodes */                    \
	X(ADDRESS, 10, "address", 0)   /* a reserved address range */                              \
	X(CONTEXT, 11, "context", 0)   /* what memory goes with; its own bytes are not known */    \
	X(EXTERNAL, 12, "external", 0) /* of another interface: handle, or mapped piece */         \
	X(IMPORTED, 13, "imported", 0) /* vmm memory that somebody exported: a handle as of vmm */ \
	X(MULTICAST, 14, "multicast", 0) /* object over devices' memory: a handle as of vmm */     \
	X(MODULE, 15, "module", 0)     /* code and its variables; its size is not known */         \
	X(LIMIT, 16, "limit", 0)       /* stacks, printf, device heap: part of the context */

#define VT_MARK_KINDS(X)                                                                           \
	X(POINT, 1, "point")                                                                       \
	X(BEGIN, 2, "begin")                                                                       \
	X(END, 3, "end")

#define VT_MARK_SOURCES(X)                                                                         \
	X(USER, 1, "user")                       /* vtrace_mark() */                               \
	X(NVTX, 2, "nvtx")                                                                         \
	X(RECORD_FUNCTION, 3, "record_function") /* torch.profiler.record_function ranges */

/* Where the probe found a tensor; what it therefore is, is a judgement. */
#define VT_ROLES(X)                                                                                \
	X(PARAMETER, 1, "parameter")     /* of a module */                                         \
	X(BUFFER, 2, "buffer")           /* registered */                                          \
	X(ATTRIBUTE, 3, "attribute")     /* a tensor in a module's own variables */                \
	X(GRADIENT, 4, "gradient")       /* .grad; name is that of the parameter */                \
	X(OPTIMIZER, 5, "optimizer")     /* state; name is PARAMETER.KEY */                        \
	X(MASTER, 6, "master")           /* an optimizer updates it, no module has it */           \
	X(CACHE, 7, "cache")             /* keys, values and states of a cache object */           \
	X(INPUT, 8, "input")             /* argument of an outermost module's call */              \
	X(VARIABLE, 9, "variable")       /* of a frame of the program, or in a container there */  \
	X(HELD, 10, "held")              /* name: the way to it from a root; holder: its kinds */  \
	/* Of an imported snapshot, not of the probe: what it says of a block. */                  \
	X(STATED, 11, "stated")          /* holder: the owner; name: what follows in its path */   \
	X(CATEGORY, 12, "category")      /* name: the category of an allocation's entry */

/* Whether autograd recorded operators: torch.no_grad() and inference_mode() disable it. */
#define VT_GRADS(X)                                                                                \
	X(UNKNOWN, 0)                                                                              \
	X(ENABLED, 1)                                                                              \
	X(DISABLED, 2)

/*
 * What is known of a file of code that the program made itself: the probe wrote it (struct
 * vt_source_record), or the importer read it.
 */
#define VT_SOURCE_TEXTS(X)                                                                         \
	/* of a notebook: its number */                                                            \
	X(CELL, 1, "cell")                                                                         \
	/* by torch.compile: the lines that say what reads and writes which buffer */              \
	X(GENERATED, 2, "generated")                                                               \
	/* by torch.compile: the user's lines for its lines (analyzer/model/generated_lines.h) */  \
	X(LINES, 3, "lines")

#define VT_ENUM_ROW(name, number, ...) VT_ENUM_PREFIX(name) = number,

#define VT_ENUM_PREFIX(name) VT_OP_##name
enum vt_op { VT_OPS(VT_ENUM_ROW) };
#undef VT_ENUM_PREFIX
#define VT_ENUM_PREFIX(name) VT_KIND_##name
enum vt_kind { VT_KINDS(VT_ENUM_ROW) };
#undef VT_ENUM_PREFIX
#define VT_ENUM_PREFIX(name) VT_MARK_##name
enum vt_mark_kind { VT_MARK_KINDS(VT_ENUM_ROW) };
#undef VT_ENUM_PREFIX
#define VT_ENUM_PREFIX(name) VT_SOURCE_##name
enum vt_mark_source { VT_MARK_SOURCES(VT_ENUM_ROW) };
#undef VT_ENUM_PREFIX
#define VT_ENUM_PREFIX(name) VT_ROLE_##name
enum vt_role { VT_ROLES(VT_ENUM_ROW) };
#undef VT_ENUM_PREFIX
#define VT_ENUM_PREFIX(name) VT_GRAD_##name
enum vt_grad { VT_GRADS(VT_ENUM_ROW) };
#undef VT_ENUM_PREFIX
#define VT_ENUM_PREFIX(name) VT_SOURCE_TEXT_##name
enum vt_source_text { VT_SOURCE_TEXTS(VT_ENUM_ROW) };
#undef VT_ENUM_PREFIX
#undef VT_ENUM_ROW

static inline int vt_kind_is_driver(unsigned int kind)
{
	switch (kind) {
#define VT_KIND_ROW(name, number, text, is_driver)                                                 \
	case number:                                                                               \
		return is_driver;
		VT_KINDS(VT_KIND_ROW)
#undef VT_KIND_ROW
	default:
		return 0;
	}
}

#endif
