/* SPDX-License-Identifier: MIT */
/*
 * NVTX: marks and ranges that a program or a library (NCCL, RAPIDS, torch.cuda.nvtx) sets for a
 * profiler become marks.  Pushed ranges nest on their thread and become scopes.  Ranges of start
 * and end may overlap and end on another thread, so that they become two marks: NAME, and "NAME
 * (end)".
 */

#include <stdint.h>
#include <string.h>

#include "preload/export.h"
#include "preload/guard.h"
#include "preload/nvtx_abi.h"
#include "preload/nvtx_names.h"
#include "preload/probe.h"
#include "preload/tracker.h"

/* Ranges of start and end that are open at once; the name of one beyond is not known at its end. */
#define MOST_OPEN_RANGES 64u
#define END_SUFFIX	 " (end)"

struct open_range {
	uint64_t id; /* atomic; 0 = free, CLAIMED while the name is written */
	struct vt_nvtx_name name;
};
#define CLAIMED UINT64_MAX

static struct {
	struct open_range ranges[MOST_OPEN_RANGES];
	uint64_t last_id; /* atomic */
} g;

static void record(enum vt_mark_kind kind, const struct vt_nvtx_name *name)
{
	if (!vt_guard_enter())
		return;
	vt_tracker_mark(kind, VT_SOURCE_NVTX, name ? name->text : NULL, name ? name->len : 0);
	vt_guard_leave();
	if (kind == VT_MARK_POINT)
		vt_probe_note_mark();
}

static void read_name(struct vt_nvtx_name *name, const struct vt_nvtx_event *event)
{
	const void *message = event ? event->message : NULL;

	if (message && event->message_type == VT_NVTX_MESSAGE_UNICODE)
		vt_nvtx_names_wide(name, message);
	else if (message && (event->message_type == VT_NVTX_MESSAGE_ASCII ||
			     event->message_type == VT_NVTX_MESSAGE_REGISTERED))
		vt_nvtx_names_narrow(name, message);
	else
		vt_nvtx_names_narrow(name, NULL);
}

static uint64_t start_range(const struct vt_nvtx_name *name)
{
	uint64_t id = __atomic_add_fetch(&g.last_id, 1, __ATOMIC_RELAXED);
	uint32_t probe;

	record(VT_MARK_POINT, name);
	for (probe = 0; probe < MOST_OPEN_RANGES; probe++) {
		struct open_range *range = &g.ranges[(id + probe) % MOST_OPEN_RANGES];
		uint64_t unused = 0;

		if (!__atomic_compare_exchange_n(&range->id, &unused, CLAIMED, 0, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		range->name = *name;
		__atomic_store_n(&range->id, id, __ATOMIC_RELEASE);
		break;
	}
	return id;
}

static void end_range(uint64_t id)
{
	struct vt_nvtx_name name;
	uint32_t i;

	/* The program's number: neither of the two marks of our own is one that was given out. */
	if (!id || id == CLAIMED)
		return;
	for (i = 0; i < MOST_OPEN_RANGES; i++) {
		struct open_range *range = &g.ranges[i];
		uint64_t expected = id;

		if (!__atomic_compare_exchange_n(&range->id, &expected, CLAIMED, 0,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		name = range->name;
		__atomic_store_n(&range->id, 0, __ATOMIC_RELEASE);
		if (name.len > VT_NVTX_LONGEST_NAME - strlen(END_SUFFIX))
			name.len = VT_NVTX_LONGEST_NAME - strlen(END_SUFFIX);
		memcpy(name.text + name.len, END_SUFFIX, sizeof(END_SUFFIX));
		name.len += strlen(END_SUFFIX);
		record(VT_MARK_POINT, &name);
		return;
	}
}

/* Callbacks, core: nvtxMark*, nvtxRangeStart*, nvtxRangeEnd, nvtxRangePush*, nvtxRangePop. */
static void mark_ex(const struct vt_nvtx_event *event)
{
	struct vt_nvtx_name name;

	read_name(&name, event);
	record(VT_MARK_POINT, &name);
}

static void mark_a(const char *text)
{
	struct vt_nvtx_name name;

	vt_nvtx_names_narrow(&name, text);
	record(VT_MARK_POINT, &name);
}

static void mark_w(const wchar_t *text)
{
	struct vt_nvtx_name name;

	vt_nvtx_names_wide(&name, text);
	record(VT_MARK_POINT, &name);
}

static uint64_t range_start_ex(const struct vt_nvtx_event *event)
{
	struct vt_nvtx_name name;

	read_name(&name, event);
	return start_range(&name);
}

static uint64_t range_start_a(const char *text)
{
	struct vt_nvtx_name name;

	vt_nvtx_names_narrow(&name, text);
	return start_range(&name);
}

static uint64_t range_start_w(const wchar_t *text)
{
	struct vt_nvtx_name name;

	vt_nvtx_names_wide(&name, text);
	return start_range(&name);
}

static int range_push_ex(const struct vt_nvtx_event *event)
{
	struct vt_nvtx_name name;

	read_name(&name, event);
	record(VT_MARK_BEGIN, &name);
	return VT_NVTX_NO_COUNT;
}

static int range_push_a(const char *text)
{
	struct vt_nvtx_name name;

	vt_nvtx_names_narrow(&name, text);
	record(VT_MARK_BEGIN, &name);
	return VT_NVTX_NO_COUNT;
}

static int range_push_w(const wchar_t *text)
{
	struct vt_nvtx_name name;

	vt_nvtx_names_wide(&name, text);
	record(VT_MARK_BEGIN, &name);
	return VT_NVTX_NO_COUNT;
}

static int range_pop(void)
{
	record(VT_MARK_END, NULL);
	return VT_NVTX_NO_COUNT;
}

/* Callbacks, core 2: the same with a domain, which is not kept, and names known in advance. */
static void domain_mark_ex(void *domain, const struct vt_nvtx_event *event)
{
	(void)domain;
	mark_ex(event);
}

static uint64_t domain_range_start_ex(void *domain, const struct vt_nvtx_event *event)
{
	(void)domain;
	return range_start_ex(event);
}

static void domain_range_end(void *domain, uint64_t id)
{
	(void)domain;
	end_range(id);
}

static int domain_range_push_ex(void *domain, const struct vt_nvtx_event *event)
{
	(void)domain;
	return range_push_ex(event);
}

static int domain_range_pop(void *domain)
{
	(void)domain;
	return range_pop();
}

static const void *domain_register_string_a(void *domain, const char *text)
{
	struct vt_nvtx_name name;

	(void)domain;
	vt_nvtx_names_narrow(&name, text);
	return vt_nvtx_names_keep(&name);
}

static const void *domain_register_string_w(void *domain, const wchar_t *text)
{
	struct vt_nvtx_name name;

	(void)domain;
	vt_nvtx_names_wide(&name, text);
	return vt_nvtx_names_keep(&name);
}

/* X(module, number, function): what we answer; NVTX makes the rest do nothing. */
#define CALLBACKS(X)                                                                               \
	X(CORE, MARK_EX, mark_ex)                                                                  \
	X(CORE, MARK_A, mark_a)                                                                    \
	X(CORE, MARK_W, mark_w)                                                                    \
	X(CORE, RANGE_START_EX, range_start_ex)                                                    \
	X(CORE, RANGE_START_A, range_start_a)                                                      \
	X(CORE, RANGE_START_W, range_start_w)                                                      \
	X(CORE, RANGE_END, end_range)                                                              \
	X(CORE, RANGE_PUSH_EX, range_push_ex)                                                      \
	X(CORE, RANGE_PUSH_A, range_push_a)                                                        \
	X(CORE, RANGE_PUSH_W, range_push_w)                                                        \
	X(CORE, RANGE_POP, range_pop)                                                              \
	X(CORE2, DOMAIN_MARK_EX, domain_mark_ex)                                                   \
	X(CORE2, DOMAIN_RANGE_START_EX, domain_range_start_ex)                                     \
	X(CORE2, DOMAIN_RANGE_END, domain_range_end)                                               \
	X(CORE2, DOMAIN_RANGE_PUSH_EX, domain_range_push_ex)                                       \
	X(CORE2, DOMAIN_RANGE_POP, domain_range_pop)                                               \
	X(CORE2, DOMAIN_REGISTER_STRING_A, domain_register_string_a)                               \
	X(CORE2, DOMAIN_REGISTER_STRING_W, domain_register_string_w)

static const struct {
	int module;
	unsigned int number;
	vt_nvtx_function_fn function;
} callbacks[] = {
#define ROW(module, number, function)                                                              \
	{ VT_NVTX_MODULE_##module, VT_NVTX_##number, (vt_nvtx_function_fn)(function) },
	CALLBACKS(ROW)
#undef ROW
};

VT_EXPORT int vt_nvtx_initialize(vt_nvtx_export_table_fn find) __asm__("InitializeInjectionNvtx2");
int vt_nvtx_initialize(vt_nvtx_export_table_fn find)
{
	const struct vt_nvtx_callbacks *tables = find ? find(VT_NVTX_TABLE_CALLBACKS) : NULL;
	vt_nvtx_function_fn **table;
	unsigned int size;
	size_t i;

	if (!tables || tables->struct_size < sizeof(*tables))
		return 0;
	for (i = 0; i < sizeof(callbacks) / sizeof(callbacks[0]); i++) {
		table = NULL;
		size = 0;
		if (!tables->get_table(callbacks[i].module, &table, &size) || !table)
			continue;
		if (callbacks[i].number < size && table[callbacks[i].number])
			*table[callbacks[i].number] = callbacks[i].function;
	}
	return 1;
}
