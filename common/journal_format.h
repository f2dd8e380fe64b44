/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_JOURNAL_FORMAT_H
#define VT_COMMON_JOURNAL_FORMAT_H

/*
 * The journal: the way from the traced program to the importer.  FORMAT.md has the prose; these
 * structures are the layout.  A journal is one file: a header page, then slots of 64 bytes.  A
 * record fills one or more consecutive slots and never crosses a chunk boundary.  All integers are
 * little endian, all offsets are asserted by the compiler.
 *
 *  J1  A writer reserves slots by moving header.head_slots, fills them, and stores `commit` last
 *      (release).
 *  J2  A record is there if and only if commit == vt_record_commit(slot) and the sum matches; a
 *      pad (VT_RECORD_PAD) has no sum.
 *  J3  Whatever lies below head_slots and is not there belongs to a thread that was stopped in
 *      flight.
 *  J4  A record is never changed after its commit; recycling only punches holes below
 *      imported_slots.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/kinds.h"

#define VT_JOURNAL_MAGIC	0x4c4e524a45434156ull /* "VACEJRNL" read as bytes */
#define VT_JOURNAL_VERSION	1 /* written; a larger minimum_reader is refused */
#define VT_JOURNAL_HEADER_BYTES	4096u
#define VT_SLOT_BYTES		64u
#define VT_CHUNK_BYTES		(4u << 20) /* the file grows and is recycled by these */
#define VT_CHUNK_SLOTS		(VT_CHUNK_BYTES / VT_SLOT_BYTES)
#define VT_RECORD_MAX_BYTES	(64u << 10)

enum vt_journal_state {
	VT_JOURNAL_RECORDING = 1,
	VT_JOURNAL_EXITING = 2,	/* exit handlers run; late frees may still follow */
	VT_JOURNAL_OFF = 3,	/* recording ended early; off_reason says why */
};

/* Who told the exit status. */
enum vt_journal_exit {
	VT_JOURNAL_EXIT_UNKNOWN = 0,
	VT_JOURNAL_EXIT_HANDLERS = 1,
	VT_JOURNAL_EXIT_CALL = 2,	/* _exit: no exit handler ran, or not all of them */
};

/*
 * Page 0.  The first part is written by the traced program, the second by whoever imports (the
 * collector), each in separate cache lines.  Times are CLOCK_MONOTONIC unless they say otherwise.
 */
struct vt_journal_header {
	uint64_t magic;
	uint32_t version;
	uint32_t minimum_reader;
	uint32_t header_bytes;
	uint32_t slot_bytes;
	uint32_t chunk_bytes;
	uint32_t pid;
	uint64_t process_start_ticks;	/* field 22 of /proc/PID/stat: detects a reused pid */
	uint64_t start_time_ns;
	uint64_t start_realtime_ns;	/* CLOCK_REALTIME at the same moment */
	/* Where pid means that process, 0 = unknown: FORMAT.md, "Where the program runs". */
	uint32_t boot_hash;		/* vt_journal_boot_hash */
	uint32_t pid_namespace;		/* inode of /proc/self/ns/pid */

	/* Written by the program while it runs; 64-byte aligned. */
	uint64_t head_slots;		/* slots reserved so far (atomic) */
	uint64_t lost_events;		/* events that did not fit (atomic) */
	uint32_t state;			/* enum vt_journal_state */
	uint32_t off_reason;		/* errno that ended or pauses the recording, 0 if none */
	uint32_t has_exit_status;	/* enum vt_journal_exit: once exit_status is valid */
	uint32_t exit_status;		/* as given to exit(3) or _exit(2) */
	uint64_t exit_time_ns;
	uint64_t reserved_writer[3];

	/* Written by the importer; 64-byte aligned. */
	uint64_t imported_slots;	/* everything below is in the database */
	uint64_t event_count;
	uint64_t peak_bytes;		/* highest device use, of the slots below peak_slots */
	int32_t peak_device;
	uint32_t importer_pid;		/* 0 = nobody */
	uint64_t peak_slots;		/* 0 until the program ends */
	uint64_t reserved_importer[3];
};

_Static_assert(offsetof(struct vt_journal_header, boot_hash) == 56, "layout");
_Static_assert(offsetof(struct vt_journal_header, head_slots) == 64, "layout");
_Static_assert(offsetof(struct vt_journal_header, imported_slots) == 128, "layout");
_Static_assert(sizeof(struct vt_journal_header) == 192, "layout");

/* Of the text of /proc/sys/kernel/random/boot_id: FNV-1a, 32 bits; never 0. */
static inline uint32_t vt_journal_boot_hash(const char *boot_id)
{
	uint32_t hash = 2166136261u;

	for (; *boot_id && *boot_id != '\n'; boot_id++)
		hash = (hash ^ (unsigned char)*boot_id) * 16777619u;
	return hash ? hash : 1;
}

/* 11 was a record of losses, which no version wrote: header.lost_events counts them. */
#define VT_RECORDS(X)                                                                              \
	X(PAD, 1)		/* fills the end of a chunk */                                     \
	X(INFO, 2)		/* one key and one value about the run */                          \
	X(STRING, 3)		/* id -> text; scopes, type names, node classes */                 \
	X(MODULE, 4)		/* one loaded ELF object */                                        \
	X(NATIVE_STACK, 5)                                                                         \
	X(PYTHON_CODE, 6)                                                                          \
	X(PYTHON_STACK, 7)                                                                         \
	X(DEVICE, 8)                                                                               \
	X(EVENT, 9)		/* consumes an event number */                                     \
	X(MARK, 10)		/* consumes an event number */                                     \
	X(PROBE, 12)		/* one look of the probe at the program's own objects */           \
	X(TENSOR, 13)                                                                              \
	X(TORCH_MODULE, 14)                                                                        \
	X(OPERATOR, 15)		/* an operator begins; its inputs */                               \
	X(OPERATOR_END, 16)	/* ... ends; its results */                                        \
	X(SOURCE, 17)		/* what the program knows of code that it made itself */

enum vt_record_type {
#define VT_RECORD_ROW(name, number) VT_RECORD_##name = (number),
	VT_RECORDS(VT_RECORD_ROW)
#undef VT_RECORD_ROW
};

/* The head of every record.  A reader skips types that it does not know. */
struct vt_record {
	uint32_t commit;	/* vt_record_commit(slot), stored last */
	uint32_t sum;		/* vt_record_sum over everything after this field */
	uint32_t nr_slots;
	uint16_t type;		/* enum vt_record_type */
	uint16_t reserved;
};
_Static_assert(sizeof(struct vt_record) == 16, "layout");

/*
 * An allocation, free, map, ... (enum vt_op).  Ids of stacks and strings are the recorder's own; 0
 * = none. A definition may come after its first use (two threads), never be missing in a complete
 * journal.
 */
struct vt_event_record {
	struct vt_record head;
	uint64_t time_ns;
	uint32_t thread;		/* kernel thread id */
	uint16_t op;			/* enum vt_op */
	uint16_t kind;			/* enum vt_kind */
	int32_t device;			/* CUDA ordinal as the program sees it, -1 = unknown */
	uint32_t function;		/* id of the intercepted function, cuda_api.def */
	uint64_t address;		/* pointer; for vmm memory the handle */
	uint64_t size_bytes;
	uint64_t extra;			/* map: handle; memory_info: free bytes; block: request;
					   other memory: what it goes with */
	uint64_t stream;
	uint32_t native_stack;
	uint32_t python_stack;
	uint32_t scope;			/* innermost open range, string id */
	uint32_t node_class;		/* autograd node evaluated on this thread, string id */
	uint64_t node_sequence;		/* its sequence number, UINT64_MAX = none */
	uint64_t forward_sequence;	/* last one given out on this thread, or UINT64_MAX */
	uint64_t allocated_bytes;	/* the framework's totals after a block event, else 0 */
	uint64_t reserved_bytes;
	uint32_t forward_python_stack;	/* where the forward call that made the node stood */
	uint32_t grad;			/* enum vt_grad, of blocks' events */
};
_Static_assert(sizeof(struct vt_event_record) == 128, "layout");

struct vt_mark_record {
	struct vt_record head;
	uint64_t time_ns;
	uint32_t thread;
	uint16_t kind;			/* enum vt_mark_kind */
	uint16_t source;		/* enum vt_mark_source */
	uint32_t name;			/* string id */
	uint32_t python_stack;
	uint64_t reserved[2];
};
_Static_assert(sizeof(struct vt_mark_record) == 56, "layout");

/* Written when the probe has finished; its tensors and modules come before it. */
struct vt_probe_record {
	struct vt_record head;
	uint64_t time_ns;		/* when it began */
	uint64_t duration_ns;
	uint32_t probe;			/* counts from 1 */
	uint32_t thread;
	uint32_t reason;		/* string id: what made it look now */
	uint32_t nr_tensors;
	uint64_t reserved;
};
_Static_assert(sizeof(struct vt_probe_record) == 56, "layout");

/*
 * A storage that the probe saw under a name, alive at this place in the journal (the probe holds
 * it).  The same storage may be seen under several names.
 */
struct vt_tensor_record {
	struct vt_record head;
	uint32_t probe;
	int32_t device;
	uint64_t address;		/* of the storage, not of a view into it */
	uint64_t size_bytes;		/* of the storage */
	uint32_t role;			/* enum vt_role */
	uint32_t flags;			/* enum vt_tensor_flag */
	uint32_t name;			/* string id: "layers.3.mlp.up_proj.weight" */
	uint32_t holder;		/* string id: the variable that its root was found in */
	uint32_t dtype;			/* string id: "bfloat16" */
	uint32_t shape;			/* string id: "4096,11008" */
};
_Static_assert(sizeof(struct vt_tensor_record) == 64, "layout");

enum vt_tensor_flag {
	VT_TENSOR_REQUIRES_GRAD = 1,
	VT_TENSOR_LEAF = 2,
	VT_TENSOR_VIEW = 4,		/* sees a part of its storage only */
};

/* An nn.Module; `address` is self_address of Python stacks. */
struct vt_torch_module_record {
	struct vt_record head;
	uint64_t address;
	uint32_t probe;
	uint32_t class_name;		/* string id */
	uint32_t name;			/* string id: path from its root, 0 = it is the root */
	uint32_t holder;		/* string id: the variable that its root was found in */
	uint64_t root_address;
};
_Static_assert(sizeof(struct vt_torch_module_record) == 48, "layout");

/* A tensor that an operator was given or returned; of its storage the address. */
struct vt_operator_address {
	uint64_t address;
	uint16_t position;		/* which argument or result */
	uint16_t element;		/* index in a list of tensors */
	uint32_t reserved;
};
_Static_assert(sizeof(struct vt_operator_address) == 16, "layout");

/* The most device tensors of one record; of longer lists the first ones are kept. */
#define VT_OPERATOR_MAX_ADDRESSES 1024

/*
 * Written before the operator runs: the allocations meant are those that are live at this place in
 * the journal.  Of an operator that was given no device tensor it is written at its end.
 */
struct vt_operator_record {
	struct vt_record head;
	uint32_t id;			/* counts from 1 */
	uint32_t parent;		/* the operator that called it on this thread, 0 = none */
	uint32_t thread;
	uint32_t name;			/* string id: "aten::addmm" */
	uint32_t python_stack;
	uint32_t forward_python_stack;	/* as in an event */
	uint32_t node_class;
	uint32_t nr_tensors;
	uint64_t node_sequence;
	uint64_t next_sequence;		/* what the next autograd node of this thread is given */
	struct vt_operator_address tensors[];
};
_Static_assert(sizeof(struct vt_operator_record) == 64, "layout");

struct vt_operator_end_record {
	struct vt_record head;
	uint32_t id;
	uint32_t nr_tensors;
	uint64_t next_sequence;		/* more than at the beginning: nodes were made inside */
	struct vt_operator_address tensors[];
};
_Static_assert(sizeof(struct vt_operator_end_record) == 32, "layout");

/*
 * What the program knows of a file of code that it made itself, in parts of what fits a record:
 * part 0 begins a text, which replaces an earlier one of that file and kind.
 */
struct vt_source_record {
	struct vt_record head;
	uint32_t kind;			/* enum vt_source_text */
	uint32_t part;			/* counts from 0 */
	uint32_t file_len;
	uint32_t text_len;
	char bytes[];			/* file, then text */
};

struct vt_string_record {
	struct vt_record head;
	uint32_t id;
	uint32_t len;
	char text[];			/* len bytes, no NUL */
};

struct vt_info_record {
	struct vt_record head;
	uint32_t key_len;
	uint32_t value_len;
	char text[];			/* key, then value */
};

/*
 * [start, end) is the mapped range, bias what to subtract from an address to get the file's own.
 * Without a path: what was there is unloaded, and code there is of no file.
 */
struct vt_module_record {
	struct vt_record head;
	uint64_t start;
	uint64_t end;
	uint64_t bias;
	uint32_t build_id_len;
	uint32_t path_len;
	char bytes[];			/* build id, then path */
};

/* The most frames of a stack that are recorded; a Python stack of as many is cut. */
#define VT_STACK_MAX_FRAMES 512
/* As a native stack's outermost "return address": what is outside of the others is not known. */
#define VT_STACK_CUT 0u

/* Innermost frame first; return addresses, so a look-up uses address - 1. */
struct vt_native_stack_record {
	struct vt_record head;
	uint32_t id;
	uint32_t nr_frames;
	uint64_t frames[];
};

/* A Python code object: everything that turns an instruction offset into a line later. */
struct vt_python_code_record {
	struct vt_record head;
	uint32_t id;
	uint32_t first_line;
	uint16_t python_minor;		/* 3.minor: the format of the line table */
	uint16_t reserved;
	uint32_t file_len;
	uint32_t name_len;		/* qualname where the interpreter has one, else name */
	uint32_t table_len;
	char bytes[];			/* file, name, line table */
};

/* self_type, self_address: only where the first local is a module or an optimizer. */
#define VT_PYTHON_NO_INSTRUCTION UINT32_MAX	/* unknown: the code object's first line */
struct vt_python_frame {
	uint32_t code;
	uint32_t instruction_bytes;	/* offset into the bytecode, or VT_PYTHON_NO_INSTRUCTION */
	uint32_t self_type;		/* string id of the type's name */
	uint32_t reserved;
	uint64_t self_address;		/* identity of the instance */
};

struct vt_python_stack_record {
	struct vt_record head;
	uint32_t id;
	uint32_t nr_frames;
	struct vt_python_frame frames[];	/* innermost first */
};

struct vt_device_record {
	struct vt_record head;
	int32_t id;			/* ordinal as the program sees it */
	uint32_t name_len;
	uint64_t total_bytes;
	uint32_t capability;		/* major * 10 + minor */
	uint32_t multiprocessors;
	uint32_t driver_version;	/* 13000 = 13.0 */
	uint32_t is_simulated;
	char name[];
};

/* The commit word of the record that starts at `slot`: never 0, and another one at every slot. */
static inline uint32_t vt_record_commit(uint64_t slot)
{
	return 0x80000001u | ((uint32_t)(slot * 0x9e3779b97f4a7c15ull >> 32) & 0x7ffffffeu);
}

/* How many slots a record of that many bytes fills. */
static inline uint32_t vt_record_slots(size_t bytes)
{
	return (uint32_t)((bytes + VT_SLOT_BYTES - 1) / VT_SLOT_BYTES);
}

/* The checksum of a record; every byte after `sum` counts, unused bytes are zero. */
uint32_t vt_record_sum(const struct vt_record *record);

/*
 * Whether a whole, committed record starts at `slot`.  `record` points to it, at most
 * `available_slots` may be read.  Only the head's plausibility and the sum are checked, not what
 * the payload says.
 */
int vt_record_is_valid(const struct vt_record *record, uint64_t slot, uint64_t available_slots);

/* Size of the payload after sizeof(struct vt_record), in bytes. */
static inline size_t vt_record_bytes(const struct vt_record *record)
{
	return (size_t)record->nr_slots * VT_SLOT_BYTES;
}

/*
 * Whether the variable parts of a valid record lie inside it: lengths and counts that come from the
 * file are never to be believed before this said yes.  Unknown types are fine (they are skipped).
 */
int vt_record_is_sound(const struct vt_record *record);

/* Why a header cannot be read: 0 = it can. */
enum vt_journal_refusal {
	VT_JOURNAL_OK = 0,
	VT_JOURNAL_EMPTY,	/* shorter than a header, or never written */
	VT_JOURNAL_FOREIGN,	/* not one of ours */
	VT_JOURNAL_NEWER,	/* written by a newer version */
	VT_JOURNAL_DAMAGED,	/* sizes that cannot be */
};
enum vt_journal_refusal vt_journal_check(const void *bytes, size_t len);

#endif
