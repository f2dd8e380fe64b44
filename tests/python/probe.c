/* SPDX-License-Identifier: MIT */
/*
 * The recorder's Python part as a library of its own, with the journal and the symbol look-up
 * replaced: a Python program calls it through ctypes and compares what was captured with what the
 * interpreter itself says.  Records are kept in memory and never freed.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/info.h"
#include "preload/intern.h"
#include "preload/journal.h"
#include "preload/python_stack.h"
#include "preload/real.h"
#include "preload/stacks.h"
#include "preload/thread_state.h"

#define MOST_RECORDS 100000
#define EXPORT	     __attribute__((visibility("default")))

struct stack {
	struct vt_key key;
	unsigned int nr;
	struct vt_python_frame frames[];
};

static struct {
	pthread_mutex_t lock;
	struct vt_record *record[MOST_RECORDS];
	size_t nr_records;
	char version[64];
	/* The stacks that were given a number, each time another one, from 1. */
	struct stack *stack[MOST_RECORDS];
	uint32_t nr_stacks;
	int is_full;
} g = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* By which the stack of the last capture is known. */
static __thread struct vt_key last;

/* What python_*.c and intern.c need from the rest of the recorder. */
void *vt_journal_reserve(size_t bytes, uint64_t *slot)
{
	*slot = 0;
	return g.is_full ? NULL : calloc(1, bytes);
}

void vt_journal_commit(void *record, uint64_t slot, size_t bytes, enum vt_record_type type)
{
	struct vt_record *head = record;

	(void)slot;
	(void)bytes;
	head->type = (uint16_t)type;
	pthread_mutex_lock(&g.lock);
	if (g.nr_records == MOST_RECORDS)
		abort();
	g.record[g.nr_records++] = head;
	pthread_mutex_unlock(&g.lock);
}

/* One recording for ever. */
uint32_t vt_thread_newest = 1;
_Thread_local struct vt_thread vt_thread_here;

void vt_thread_begin(struct vt_thread *thread, uint32_t generation)
{
	thread->generation = generation;
}

void vt_info_once(const char *key, const char *value)
{
	if (strcmp(key, "python") == 0)
		strncpy(g.version, value, sizeof(g.version) - 1);
}

uint32_t vt_thread_ask_id(struct vt_thread *thread)
{
	thread->tid = (uint32_t)gettid();
	return thread->tid;
}

void *vt_real_symbol_global(const char *symbol)
{
	return dlsym(RTLD_DEFAULT, symbol);
}

void *vt_real_symbol_in(const char *prefix, const char *symbol)
{
	(void)prefix;
	(void)symbol;
	return NULL;
}

/* Each stack that is asked for is compared, known or not. */
uint32_t vt_stacks_find_python(const struct vt_key *key)
{
	(void)key;
	return 0;
}

uint32_t vt_stacks_intern_python(const struct vt_key *key, const struct vt_python_frame *frames,
				 unsigned int nr)
{
	struct stack *stack;
	uint32_t id;

	if (g.is_full)
		return 0;
	stack = malloc(sizeof(*stack) + nr * sizeof(*frames));
	id = __atomic_add_fetch(&g.nr_stacks, 1, __ATOMIC_RELAXED);
	if (!stack || id >= MOST_RECORDS)
		abort();
	stack->key = *key;
	stack->nr = nr;
	memcpy(stack->frames, frames, nr * sizeof(*frames));
	g.stack[id] = stack;
	return id;
}

/* What the Python side calls. */
EXPORT int probe_start(void);
int probe_start(void)
{
	int error = vt_intern_reset();

	return error ? error : vt_python_stack_reset();
}

/* Whether the journal has no room, until it is told otherwise. */
EXPORT void probe_fill(int is_full);
void probe_fill(int is_full)
{
	g.is_full = is_full;
}

/* Captures the caller's stack into `frames`; returns the number of frames, 0 for no Python. */
EXPORT int probe_capture(struct vt_python_frame *frames);
int probe_capture(struct vt_python_frame *frames)
{
	static _Thread_local uint64_t random = 1;
	const struct stack *stack;
	uint32_t id;

	/* Either memory, each as old as it happens to be: Knuth's MMIX generator. */
	random = random * 6364136223846793005ull + 1442695040888963407ull;
	vt_thread_self()->memory = (uint32_t)(random >> 63);
	id = vt_python_stack_capture();
	stack = g.stack[id];
	if (!id)
		return 0;
	last = stack->key;
	memcpy(frames, stack->frames, stack->nr * sizeof(*frames));
	return (int)stack->nr;
}

/* The one or the other half of the last capture's key. */
EXPORT uint64_t probe_key(int is_high);
uint64_t probe_key(int is_high)
{
	return is_high ? last.high : last.low;
}

/* Nanoseconds of processor time per capture of the present stack. */
EXPORT double probe_time(int rounds);
double probe_time(int rounds)
{
	struct timespec start, end;
	int i;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	for (i = 0; i < rounds; i++)
		vt_python_stack_capture();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
	       rounds;
}

static const struct vt_record *find(enum vt_record_type type, uint32_t id)
{
	const struct vt_record *found = NULL;
	size_t i;

	pthread_mutex_lock(&g.lock);
	for (i = 0; i < g.nr_records && !found; i++) {
		uint32_t own;

		/* Both kinds of record have their id right behind the head. */
		memcpy(&own, g.record[i] + 1, sizeof(own));
		if (g.record[i]->type == type && own == id)
			found = g.record[i];
	}
	pthread_mutex_unlock(&g.lock);
	return found;
}

EXPORT const struct vt_record *probe_code(uint32_t id);
const struct vt_record *probe_code(uint32_t id)
{
	return find(VT_RECORD_PYTHON_CODE, id);
}

EXPORT const struct vt_record *probe_string(uint32_t id);
const struct vt_record *probe_string(uint32_t id)
{
	return find(VT_RECORD_STRING, id);
}

EXPORT size_t probe_count(void);
size_t probe_count(void)
{
	return g.nr_records;
}

EXPORT const char *probe_version(void);
const char *probe_version(void)
{
	return g.version;
}
