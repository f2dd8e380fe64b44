/* SPDX-License-Identifier: MIT */
#include "preload/modules.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "common/journal_format.h"
#include "preload/ids.h"
#include "preload/journal.h"
#include "preload/output.h"
#include "preload/sys.h"

#define MOST_MODULES 4096u
#define LONGEST_BUILD_ID 64u

struct range {
	uint64_t start;
	uint64_t end;
};

/* What was there at the last look; a key combines address, path and build id. */
struct snapshot {
	uint32_t nr;
	struct vt_key keys[MOST_MODULES];
	struct range ranges[MOST_MODULES];
};

static struct {
	uint32_t is_busy;	/* one thread is in vt_modules_update (atomic) */
	int is_incomplete;	/* some object did not fit into the journal */
	unsigned long long adds;
	unsigned long long subs;
	struct snapshot *last;
	struct snapshot *next;
} g;

struct module {
	struct range range;
	uint64_t bias;
	const unsigned char *build_id;
	uint32_t build_id_len;
	const char *path;
	uint32_t path_len;
};

static void find_range(const struct dl_phdr_info *info, struct module *module)
{
	module->range.start = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		if (start < module->range.start)
			module->range.start = start;
		if (start + segment->p_memsz > module->range.end)
			module->range.end = start + segment->p_memsz;
	}
}

/* Notes are read from memory, so only where a loaded segment holds them. */
static void find_build_id(const struct dl_phdr_info *info, struct module *module)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + segment->p_vaddr;
		uint64_t end = at + segment->p_memsz;

		if (segment->p_type != PT_NOTE || at < module->range.start ||
		    end > module->range.end)
			continue;
		while (at + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *note = (const void *)(uintptr_t)at;
			uint64_t name = at + sizeof(*note);
			uint64_t content = name + ((note->n_namesz + 3u) & ~3u);

			at = content + ((note->n_descsz + 3u) & ~3u);
			if (at > end)
				break;
			if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 ||
			    memcmp((const void *)(uintptr_t)name, "GNU", 4) != 0 ||
			    note->n_descsz > LONGEST_BUILD_ID)
				continue;
			module->build_id = (const void *)(uintptr_t)content;
			module->build_id_len = note->n_descsz;
			return;
		}
	}
}

static struct vt_key key_of(const struct module *module)
{
	const struct vt_key parts[3] = {
		{ module->range.start, module->range.end },
		vt_ids_key(module->path, module->path_len),
		vt_ids_key(module->build_id, module->build_id_len),
	};

	return vt_ids_key(parts, sizeof(parts));
}

/* Returns 0 or -1. */
static int write_module(const struct module *module)
{
	struct vt_module_record *record;
	size_t bytes = sizeof(*record) + module->build_id_len + module->path_len;
	uint64_t slot;

	record = vt_journal_reserve(bytes, &slot);
	if (!record)
		return -1;
	record->start = module->range.start;
	record->end = module->range.end;
	record->bias = module->bias;
	record->build_id_len = module->build_id_len;
	record->path_len = module->path_len;
	if (module->build_id_len)
		memcpy(record->bytes, module->build_id, module->build_id_len);
	memcpy(record->bytes + module->build_id_len, module->path, module->path_len);
	vt_journal_commit(record, slot, bytes, VT_RECORD_MODULE);
	return 0;
}

static int has_key(const struct snapshot *snapshot, const struct vt_key *key, uint32_t hint)
{
	/*
	 * Objects keep their order in the loader's list, so the same place is nearly always right.
	 */
	if (hint < snapshot->nr && !memcmp(&snapshot->keys[hint], key, sizeof(*key)))
		return 1;
	for (uint32_t i = 0; i < snapshot->nr; i++)
		if (!memcmp(&snapshot->keys[i], key, sizeof(*key)))
			return 1;
	return 0;
}

static void add(struct snapshot *snapshot, const struct vt_key *key, const struct range *range)
{
	if (snapshot->nr == MOST_MODULES)
		return;
	snapshot->keys[snapshot->nr] = *key;
	snapshot->ranges[snapshot->nr++] = *range;
}

/* Returns 0, or -1 where its path cannot be had. */
static int describe(const struct dl_phdr_info *info, struct module *module)
{
	static char program[VT_OUTPUT_MAX]; /* one thread at a time; stacks may be small */

	*module = (struct module){ .bias = info->dlpi_addr, .path = info->dlpi_name };
	if (!module->path || !*module->path) {
		/* The program itself has no name in the loader's list. */
		if (vt_sys_readlink("/proc/self/exe", program, sizeof(program)) <= 0)
			return -1;
		module->path = program;
	}
	module->path_len = (uint32_t)strnlen(module->path, VT_OUTPUT_MAX);
	find_range(info, module);
	find_build_id(info, module);
	return 0;
}

/* Notes an object in g.next and, with `is_writing`, in the journal where it is new. */
static int note_loaded(struct dl_phdr_info *info, size_t size, void *is_writing)
{
	struct module module;
	struct vt_key key;

	(void)size;
	if (describe(info, &module))
		return 0;
	key = key_of(&module);
	/* One that did not fit is new again at the next look, whatever has changed. */
	if (is_writing && !has_key(g.last, &key, g.next->nr) && write_module(&module))
		g.is_incomplete = 1;
	else
		add(g.next, &key, &module.range);
	return 0;
}

/*
 * What is gone leaves a range of no file: code that is made there later is nobody's.  Before what
 * is new, which may lie in the same place.  Of more objects than a snapshot holds, those that it
 * lacks may be loaded still.
 */
static void write_unloaded(void)
{
	g.next->nr = 0;
	dl_iterate_phdr(note_loaded, NULL);
	for (uint32_t i = 0; i < g.last->nr && g.next->nr < MOST_MODULES; i++) {
		const struct module gone = { .range = g.last->ranges[i] };

		if (!has_key(g.next, &g.last->keys[i], i) && write_module(&gone))
			g.is_incomplete = 1;
	}
}

struct counters {
	unsigned long long adds;
	unsigned long long subs;
};

static int read_counters(struct dl_phdr_info *info, size_t size, void *result)
{
	struct counters *counters = result;

	(void)size;
	counters->adds = info->dlpi_adds;
	counters->subs = info->dlpi_subs;
	return 1;
}

static int take_snapshot(const struct counters *counters)
{
	struct snapshot *old;
	int has_unloaded = counters->subs != g.subs;

	if (!g.next)
		g.next = vt_sys_map_private(sizeof(*g.next));
	if (!g.last)
		g.last = vt_sys_map_private(sizeof(*g.last));
	if (!g.next || !g.last)
		return has_unloaded;
	g.is_incomplete = 0;
	if (has_unloaded)
		write_unloaded();
	g.next->nr = 0;
	dl_iterate_phdr(note_loaded, &g);
	old = g.last;
	g.last = g.next;
	g.next = old;
	__atomic_store_n(&g.adds, g.is_incomplete ? 0 : counters->adds, __ATOMIC_RELAXED);
	__atomic_store_n(&g.subs, counters->subs, __ATOMIC_RELAXED);
	return has_unloaded;
}

int vt_modules_update(void)
{
	struct counters now = { 0, 0 };
	int has_unloaded = 0;

	dl_iterate_phdr(read_counters, &now);
	if (now.adds == __atomic_load_n(&g.adds, __ATOMIC_RELAXED) &&
	    now.subs == __atomic_load_n(&g.subs, __ATOMIC_RELAXED))
		return 0;
	if (__atomic_exchange_n(&g.is_busy, 1, __ATOMIC_ACQUIRE))
		return 0;
	if (now.adds != g.adds || now.subs != g.subs)
		has_unloaded = take_snapshot(&now);
	__atomic_store_n(&g.is_busy, 0, __ATOMIC_RELEASE);
	return has_unloaded;
}

void vt_modules_reset(void)
{
	g.adds = 0;
	g.subs = 0;
	if (g.last)
		g.last->nr = 0;
	g.is_busy = 0;
}
