/* SPDX-License-Identifier: MIT */
#include "tests/lib/sample_journal.h"

#include "analyzer/base/util.h"

#define MIB (1ull << 20)

static void event(struct builder *b, uint32_t thread, enum vt_op op, enum vt_kind kind,
		  uint64_t address, uint64_t size_bytes, uint64_t extra)
{
	builder_event(b, (struct vt_event_record){ .thread = thread,
						   .op = (uint16_t)op,
						   .kind = (uint16_t)kind,
						   .address = address,
						   .size_bytes = size_bytes,
						   .extra = extra,
						   .function = op == VT_OP_FREE ? 4 : 1,
						   .native_stack = b->nr_events % 3 ? 1 : 0,
						   .python_stack = b->nr_events % 2 ? 2 : 0,
						   .scope = 5,
						   .node_class = 6 });
}

static void add_stacks(struct builder *b)
{
	static const unsigned char table[] = { 2, 1, 4, 2, 6, 0x80, 2, 1 };
	static const uint64_t frames[] = { 0x7000100, 0x7000200, 0x9000100 };
	static const struct vt_python_frame python[] = {
		{ .code = 2, .instruction_bytes = 3, .self_type = 5, .self_address = 0xabc },
		{ .code = 2, .instruction_bytes = 4, .self_type = 5, .self_address = 0xabc },
		{ .code = 1, .instruction_bytes = 0 },
	};

	builder_module(b, 0x7000000, 0x8000000, "/usr/lib/one.so");
	builder_native_stack(b, 1, frames, 3);
	builder_module(b, 0x9000000, 0xa000000, "/usr/lib/late.so");
	builder_native_stack(b, 2, frames + 1, 2);
	/* Another module where the first one was. */
	builder_module(b, 0x7000000, 0x7800000, "/usr/lib/two.so");
	builder_native_stack(b, 3, frames, 2);
	/* Stacks before their code objects: two frames that turn out to be the same line. */
	builder_python_stack(b, 1, python, 3);
	builder_python_stack(b, 2, python + 1, 2);
	builder_python_code(b, 1, "main", 10, table, sizeof(table));
	builder_python_stack(b, 3, python + 1, 2);
	builder_python_code(b, 2, "Linear.forward", 100, table, sizeof(table));
	builder_python_stack(b, 4, python, 3);
	builder_python_stack(b, 5, python + 1, 1);
}

/* An operator that reads one address and returns another one, around what happens between both. */
static void add_operator(struct builder *b, uint32_t id, uint64_t input, uint64_t output)
{
	struct {
		struct vt_operator_record record;
		struct vt_operator_address input;
	} begin = { .record = { .id = id, .parent = id / 2, .thread = 1, .name = 5,
				.next_sequence = id, .nr_tensors = 1 },
		    .input = { .address = input } };
	struct {
		struct vt_operator_end_record record;
		struct vt_operator_address output;
	} end = { .record = { .id = id, .next_sequence = id + id % 2, .nr_tensors = 1 },
		  .output = { .address = output } };

	builder_append(b, VT_RECORD_OPERATOR, &begin, sizeof(begin));
	event(b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, output, 512, 0);
	builder_append(b, VT_RECORD_OPERATOR_END, &end, sizeof(end));
}

static void add_blocks(struct builder *b)
{
	for (uint64_t i = 0; i < 12; i++) {
		if (i % 2)
			add_operator(b, (uint32_t)i, 0x10000 + (i - 1) * 512, 0x10000 + i * 512);
		event(b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x10000 + i * 512, 512 * (i + 1), 0);
		if (i % 3)
			event(b, 2, VT_OP_FREE, VT_KIND_BLOCK, 0x10000 + (i - 1) * 512, 0, 0);
	}
}

static void add_failed_frees(struct builder *b)
{
	event(b, 1, VT_OP_ALLOC, VT_KIND_POOL, 0x80000, MIB, 0);
	event(b, 1, VT_OP_FREE, VT_KIND_POOL, 0x80000, 0, 0);
	event(b, 1, VT_OP_FREE_FAILED, VT_KIND_POOL, 0x80000, 0, 0);
	event(b, 3, VT_OP_FREE, VT_KIND_SEGMENT, 0x80000, 0, 0);
	event(b, 1, VT_OP_FREE, VT_KIND_POOL, 0x80000, 0, 0);
	event(b, 1, VT_OP_FREE_FAILED, VT_KIND_POOL, 0x80000, 0, 0);
	/* Ended by reuse, then a failed free by the thread that reused it. */
	event(b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x10000, 3 * MIB, 0);
	event(b, 1, VT_OP_FREE_FAILED, VT_KIND_SEGMENT, 0x10000, 0, 0);
	event(b, 2, VT_OP_FREE, VT_KIND_SEGMENT, 0x10000, 0, 0);
	event(b, 2, VT_OP_UNRESERVE, VT_KIND_ADDRESS, 0x10000, MIB, 0);
	event(b, 2, VT_OP_FREE_FAILED, VT_KIND_ADDRESS, 0x10000, 0, 0);
}

static void add_vmm(struct builder *b)
{
	event(b, 1, VT_OP_RESERVE, VT_KIND_ADDRESS, 0x200000, 64 * MIB, 0);
	event(b, 1, VT_OP_ALLOC, VT_KIND_VMM, 77, 2 * MIB, 0);
	event(b, 1, VT_OP_MAP, VT_KIND_VMM, 0x200000, 2 * MIB, 77);
	event(b, 1, VT_OP_ALLOC, VT_KIND_VMM, 78, 2 * MIB, 0);
	event(b, 1, VT_OP_MAP, VT_KIND_VMM, 0x400000, 2 * MIB, 78);
	event(b, 2, VT_OP_RETAIN, VT_KIND_VMM, 78, 0, 0);
	event(b, 1, VT_OP_RELEASE, VT_KIND_VMM, 77, 0, 0);
	event(b, 1, VT_OP_RELEASE, VT_KIND_VMM, 78, 0, 0);
	event(b, 1, VT_OP_UNMAP, VT_KIND_VMM, 0x200000, 4 * MIB, 0);
	event(b, 1, VT_OP_FREE_FAILED, VT_KIND_VMM, 0x200000, 0, 0);
	event(b, 1, VT_OP_UNMAP, VT_KIND_VMM, 0x200000, 4 * MIB, 0);
	event(b, 2, VT_OP_RELEASE, VT_KIND_VMM, 78, 0, 0);
	event(b, 2, VT_OP_FREE_FAILED, VT_KIND_VMM, 78, 0, 0);
	event(b, 2, VT_OP_MAP, VT_KIND_VMM, 0x200000, 2 * MIB, 78);
	event(b, 2, VT_OP_RELEASE, VT_KIND_VMM, 78, 0, 0);
	/* The handle's number comes again while the old one is mapped. */
	event(b, 2, VT_OP_ALLOC, VT_KIND_VMM, 78, 4 * MIB, 0);
	event(b, 2, VT_OP_MAP, VT_KIND_VMM, 0x200000, 4 * MIB, 78);
	event(b, 2, VT_OP_RELEASE, VT_KIND_VMM, 78, 0, 0);
}

/* The end of a context: refused, then done. */
static void add_contexts(struct builder *b)
{
	event(b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x900000, 2 * MIB, 0xc1);
	event(b, 1, VT_OP_ALLOC, VT_KIND_ARRAY, 0xa0, MIB, 0xc1);
	event(b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0xb00000, 2 * MIB, 0xc2);
	event(b, 3, VT_OP_DESTROY, VT_KIND_CONTEXT, 0xc1, 0, 0);
	event(b, 3, VT_OP_FREE_FAILED, VT_KIND_CONTEXT, 0xc1, 0, 201);
	event(b, 1, VT_OP_FREE, VT_KIND_ARRAY, 0xa0, 0, 0);
	event(b, 1, VT_OP_ALLOC, VT_KIND_PINNED, 0xd00000, MIB, 0xc1);
	event(b, 3, VT_OP_DESTROY, VT_KIND_CONTEXT, 0xc1, 0, 0);
}

/* Opened three times; two closes, one of them refused, then the last two. */
static void add_imports(struct builder *b)
{
	for (int i = 0; i < 3; i++)
		event(b, 1 + (uint32_t)i, VT_OP_ALLOC, VT_KIND_IPC, 0xe00000, MIB, 0xc2);
	event(b, 1, VT_OP_FREE, VT_KIND_IPC, 0xe00000, 0, 0);
	event(b, 2, VT_OP_FREE, VT_KIND_IPC, 0xe00000, 0, 0);
	event(b, 2, VT_OP_FREE_FAILED, VT_KIND_IPC, 0xe00000, 0, 1);
	event(b, 1, VT_OP_FREE, VT_KIND_IPC, 0xe00000, 0, 0);
	event(b, 1, VT_OP_FREE, VT_KIND_IPC, 0xe00000, 0, 0);
	event(b, 1, VT_OP_FREE_FAILED, VT_KIND_IPC, 0xe00000, 0, 1);
	event(b, 2, VT_OP_FREE, VT_KIND_IPC, 0xe00000, 0, 0);
	event(b, 1, VT_OP_ALLOC, VT_KIND_IMPORTED, 79, 0, 0);
	event(b, 1, VT_OP_ALLOC, VT_KIND_IMPORTED, 79, 0, 0);
	event(b, 1, VT_OP_RELEASE, VT_KIND_VMM, 79, 0, 0);
	event(b, 1, VT_OP_MAP, VT_KIND_VMM, 0x1000000, 2 * MIB, 79);
	event(b, 1, VT_OP_RELEASE, VT_KIND_VMM, 79, 0, 0);
	event(b, 1, VT_OP_UNMAP, VT_KIND_VMM, 0x1000000, 2 * MIB, 0);
	event(b, 1, VT_OP_ALLOC, VT_KIND_MULTICAST, 80, 8 * MIB, 0);
	event(b, 1, VT_OP_BIND, VT_KIND_MULTICAST, 80, 8 * MIB, 78);
	event(b, 1, VT_OP_RELEASE, VT_KIND_VMM, 80, 0, 0);
}

/* Memory of two graphs; one is gone before the executables that were made of it. */
static void add_graphs(struct builder *b)
{
	event(b, 1, VT_OP_ALLOC, VT_KIND_GRAPH, 0xf00000, MIB, 0x91);
	event(b, 2, VT_OP_ALLOC, VT_KIND_GRAPH, 0xf80000, MIB, 0x92);
	event(b, 1, VT_OP_INSTANTIATE, VT_KIND_GRAPH, 0x95, 0, 0x91);
	event(b, 1, VT_OP_INSTANTIATE, VT_KIND_GRAPH, 0x96, 0, 0x91);
	event(b, 1, VT_OP_DESTROY, VT_KIND_GRAPH, 0x91, 0, 0);
	event(b, 2, VT_OP_FREE, VT_KIND_SEGMENT, 0xf00000, 0, 0);
	event(b, 1, VT_OP_DESTROY, VT_KIND_GRAPH, 0x95, 0, 0);
	event(b, 2, VT_OP_DESTROY, VT_KIND_GRAPH, 0x92, 0, 0);
	event(b, 1, VT_OP_DESTROY, VT_KIND_GRAPH, 0x96, 0, 0);
}

/* The most that is used at all, while a pool holds it; most of it is allocated at the second. */
static void add_pools(struct builder *b)
{
	event(b, 1, VT_OP_MEMORY_INFO, VT_KIND_POOL, 0x51, 300 * MIB, 200 * MIB);
	event(b, 1, VT_OP_ALLOC, VT_KIND_POOL, 0x2000000, 100 * MIB, 0x51);
	event(b, 2, VT_OP_ALLOC, VT_KIND_POOL, 0xa000000, 50 * MIB, 0x51);
	event(b, 1, VT_OP_FREE, VT_KIND_POOL, 0x2000000, 0, 0);
	event(b, 1, VT_OP_ALLOC, VT_KIND_POOL, 0x2000000, 40 * MIB, 0x51);
	event(b, 3, VT_OP_DESTROY, VT_KIND_POOL, 0x51, 0, 0);
	event(b, 3, VT_OP_FREE_FAILED, VT_KIND_POOL, 0x51, 0, 1);
	event(b, 1, VT_OP_MEMORY_INFO, VT_KIND_GRAPH, 0, 20 * MIB, 20 * MIB);
	event(b, 3, VT_OP_DESTROY, VT_KIND_POOL, 0x51, 0, 0);
	event(b, 1, VT_OP_FREE, VT_KIND_POOL, 0x2000000, 0, 0);
	event(b, 2, VT_OP_FREE, VT_KIND_SEGMENT, 0xa000000, 0, 0);
	event(b, 1, VT_OP_MEMORY_INFO, VT_KIND_GRAPH, 0, 0, 0);
}

/* Events that found no room, and what shows which were frees. */
static void add_losses(struct builder *b)
{
	event(b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x70000000, 20 * MIB, 0);
	event(b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x70000000, 4 * MIB, 0);
	event(b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x70400000, 4 * MIB, 0);
	event(b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x70800000, 4 * MIB, 0);
	event(b, 2, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x80000000, 2 * MIB, 0);
	event(b, 2, VT_OP_FREE, VT_KIND_SEGMENT, 0x80000000, 0, 0);
	event(b, 2, VT_OP_LOSS, VT_KIND_BLOCK, 0, 3, 0);
	event(b, 2, VT_OP_FREE_FAILED, VT_KIND_SEGMENT, 0x80000000, 0, 1);
	event(b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x70200000, 4 * MIB, 0);
	event(b, 1, VT_OP_LOSS, VT_KIND_BLOCK, 0, 1, 0);
	event(b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x70500000, MIB, 0);
	event(b, 2, VT_OP_FREE, VT_KIND_SEGMENT, 0x70000000, 0, 0);
	event(b, 2, VT_OP_FREE_FAILED, VT_KIND_SEGMENT, 0x70000000, 0, 1);
	event(b, 2, VT_OP_FREE, VT_KIND_SEGMENT, 0x70000000, 0, 0);
}

void sample_journal(struct builder *b)
{
	builder_info(b, "recorder", "0.1.0");
	builder_info(b, "command", "[\"python\", \"train.py\"]");
	builder_string(b, 5, "Linear");
	event(b, 1, VT_OP_MEMORY_INFO, VT_KIND_SEGMENT, 0, 1000 * MIB, 600 * MIB);
	builder_device(b, 0, "Sample", 1000 * MIB);
	event(b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x10000, 2 * MIB, 0);
	add_stacks(b);
	builder_mark(b, VT_MARK_BEGIN, 5);
	add_blocks(b);
	builder_tear(b, 3);
	builder_string(b, 6, "MmBackward0");
	add_failed_frees(b);
	add_vmm(b);
	add_contexts(b);
	add_imports(b);
	add_pools(b);
	add_graphs(b);
	add_losses(b);
	event(b, 1, VT_OP_OUT_OF_MEMORY, VT_KIND_BLOCK, 0, 40 * MIB, 0);
	builder_mark(b, VT_MARK_END, 5);
	builder_append(b, (enum vt_record_type)99, &(struct vt_record){ 0 },
		       sizeof(struct vt_record));
	builder_tear(b, 1);
	builder_header(b)->lost_events = 3;
	builder_header(b)->has_exit_status = 1;
}
