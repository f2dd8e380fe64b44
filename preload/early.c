/* SPDX-License-Identifier: MIT */
#include "preload/early.h"

#include <string.h>
#include <time.h>

#include "preload/intern.h"
#include "preload/journal.h"
#include "preload/sys.h"

#define PLACES 32u	/* for points, and as many for ranges */
#define LONGEST_NAME 96u

enum state {
	STATE_FREE = 0,
	STATE_CLAIMED,	/* being filled */
	STATE_KEPT,
	STATE_WRITTEN,
};

struct early {
	uint32_t state;		/* enum state (atomic) */
	uint32_t id;		/* string id once written */
	uint64_t time_ns;
	uint32_t thread;
	uint16_t source;
	uint16_t kind;
	uint32_t len;
	char name[LONGEST_NAME];
};

static struct {
	struct early marks[2 * PLACES];
} g;

static struct early *claim(uint32_t first)
{
	for (uint32_t i = first; i < first + PLACES; i++) {
		uint32_t expected = STATE_FREE;

		if (__atomic_compare_exchange_n(&g.marks[i].state, &expected, STATE_CLAIMED, 0,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &g.marks[i];
	}
	return NULL;
}

uint32_t vt_early_keep(enum vt_mark_kind kind, enum vt_mark_source source, const char *name,
	size_t len, uint32_t thread)
{
	struct early *mark = name && len ? claim(kind == VT_MARK_BEGIN ? PLACES : 0) : NULL;

	if (!mark)
		return 0;
	mark->time_ns = vt_sys_now_ns(CLOCK_MONOTONIC);
	mark->thread = thread;
	mark->source = (uint16_t)source;
	mark->kind = (uint16_t)kind;
	mark->len = (uint32_t)(len < LONGEST_NAME ? len : LONGEST_NAME);
	memcpy(mark->name, name, mark->len);
	mark->id = 0;
	__atomic_store_n(&mark->state, STATE_KEPT, __ATOMIC_RELEASE);
	return VT_EARLY_SCOPE + (uint32_t)(mark - g.marks);
}

static struct early *at(uint32_t scope)
{
	uint32_t place = scope - VT_EARLY_SCOPE;

	return scope >= VT_EARLY_SCOPE && place < 2 * PLACES ? &g.marks[place] : NULL;
}

void vt_early_drop(uint32_t scope)
{
	struct early *mark = at(scope);

	if (mark)
		__atomic_store_n(&mark->state, STATE_FREE, __ATOMIC_RELEASE);
}

static struct early *oldest_kept(void)
{
	struct early *oldest = NULL;

	for (uint32_t i = 0; i < 2 * PLACES; i++) {
		struct early *mark = &g.marks[i];

		if (__atomic_load_n(&mark->state, __ATOMIC_ACQUIRE) == STATE_KEPT &&
		    (!oldest || mark->time_ns < oldest->time_ns))
			oldest = mark;
	}
	return oldest;
}

void vt_early_write(void)
{
	struct early *mark;

	while ((mark = oldest_kept())) {
		struct vt_mark_record record = {
			.time_ns = mark->time_ns,
			.thread = mark->thread,
			.kind = mark->kind,
			.source = mark->source,
			.name = vt_intern_string(mark->name, mark->len),
		};

		mark->id = record.name;
		if (record.name)
			vt_journal_append(&record, sizeof(record), VT_RECORD_MARK);
		__atomic_store_n(&mark->state, STATE_WRITTEN, __ATOMIC_RELEASE);
	}
}

uint32_t vt_early_id(uint32_t scope)
{
	struct early *mark = at(scope);

	if (!mark || __atomic_load_n(&mark->state, __ATOMIC_ACQUIRE) != STATE_WRITTEN)
		return 0;
	return mark->id;
}

void vt_early_reset(void)
{
	for (uint32_t i = 0; i < 2 * PLACES; i++)
		if (__atomic_load_n(&g.marks[i].state, __ATOMIC_ACQUIRE) == STATE_WRITTEN)
			__atomic_store_n(&g.marks[i].state, STATE_FREE, __ATOMIC_RELEASE);
}
