/* SPDX-License-Identifier: MIT */
/*
 * Two kinds of reasons.  Landmarks come few times in a run, and afterwards something has a name
 * that had none: the first calls of a module tree, the first two optimizer steps, being out of
 * memory.  The others (a new peak, a mark) may come at any time.
 *
 * A third kind, growth, also asks who holds what the program piles up (probe_holders.py).  It
 * comes when twice as many optimizer steps have ended as the last time, or at a new peak of a
 * program that has none, and only where more is allocated than then.  It has a separate budget:
 * the first two (one that notes what is there, one that searches for what still is) come in any
 * case.
 *
 * Where code runs that the program made itself (cells of notebooks), a look at that alone.
 *
 * Budget: INITIAL_NS at the start and a thousandth of the time since then.  Calls of modules, steps
 * and being out of memory look in any case, up to LANDMARKS_NS: what has a name must not depend on
 * how long the first look took, which is most of the time of all.  The others look only where the
 * last duration fits.  It is counted in processor time, which is what the program loses: waiting
 * while others run is no work of ours.
 */
#include "preload/probe.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "preload/config.h"
#include "preload/probe_api.h"
#include "preload/probe_program.h"
#include "preload/probe_records.h"
#include "preload/python_code.h"
#include "preload/sys.h"
#include "preload/thread_state.h"
#include "preload/tracker.h"

#define ALWAYS	     2		/* of VTRACE_PROBE: at whatever cost */
#define INITIAL_NS   50000000ull
#define LANDMARKS_NS 1000000000ull
#define SHARE	     1000u	/* of the run's time */
#define MOST_NS	     400000000ull /* one look stops here and keeps what it has */
#define PAUSE_FACTOR 10u	/* between two looks, times the last one's duration */
#define RETRY_NS     1000000u	/* after one that was not possible then */

/*
 * Until a module was called programs load their parameters, and every one is a new peak: six looks
 * on the way to 80 GiB.  Later a peak is worth a look that is 5 % and one large block higher (those
 * below come from the allocator's pool of small ones).
 */
#define LOADING_NS	 10000000000ull
#define FIRST_PEAK_BYTES (64ull << 20)
#define LOADING_FACTOR	 4u
#define LATER_SHARE	 20u
#define LARGE_BYTES	 (1ull << 20)
#define MOST_DEVICES	 64

#define MOST_MODULES	 64u	/* remembered callees, power of two */
#define LANDMARK_MODULES 4u
#define LANDMARK_STEPS	 2u
#define FIRST_GROWTH	 2u	/* steps; the first that is compared with */
#define FIRST_STEP_NS	 10000000000ull /* a module was called so long ago: no training */
#define FREE_GROWTH	 2u	/* looks */
#define MOST_GROWTH_NS	 1000000000ull /* one stops there; a dozen passes over all objects */

/* X(name, text, whether a landmark); the first that applies is the one recorded. */
#define REASONS(X)                                                                                 \
	X(OUT_OF_MEMORY, "out of memory", 1)                                                       \
	X(STEP, "optimizer step", 1)                                                               \
	X(CALL, "module call", 1)                                                                  \
	X(GROWTH, "growth", 0)                                                                     \
	X(MARK, "mark", 0)                                                                         \
	X(PEAK, "peak", 0)                                                                         \
	X(CODE, "code made by the program", 0)

enum reason {
#define ROW(name, text, landmark) REASON_##name,
	REASONS(ROW)
#undef ROW
	NR_REASONS,
};

static const struct {
	const char *text;
	int is_landmark;
} reasons[] = {
#define ROW(name, text, landmark) { text, landmark },
	REASONS(ROW)
#undef ROW
};

/* All of it atomic, relaxed: a look too many or too few does no harm. */
static struct {
	uint32_t generation;	/* the recording that the rest belongs to */
	uint32_t requested;	/* bit per reason */
	uint32_t looked;	/* the same: at least once */
	uint32_t is_queued;
	uint64_t start_ns;
	uint64_t spent_ns;
	uint64_t landmarks_ns;	/* of these at landmarks */
	uint64_t last_ns;	/* duration of the last look */
	uint64_t not_before_ns;
	uint64_t modules[MOST_MODULES];
	uint32_t nr_modules;
	uint64_t first_call_ns;
	uint32_t nr_steps;
	uint32_t next_growth;	/* step */
	uint32_t nr_made;	/* of vt_python_code_nr_made: asked for */
	uint32_t nr_growth;	/* looks for growth */
	uint64_t growth_spent_ns;
	uint64_t growth_last_ns;
	uint64_t grown_bytes;	/* allocated when growth was asked for the last time */
	uint64_t allocated_bytes[MOST_DEVICES];
	uint64_t peak_bytes[MOST_DEVICES];
	uint64_t next_peak_bytes[MOST_DEVICES];
} g;

#define LOAD(field)	    __atomic_load_n(&g.field, __ATOMIC_RELAXED)
#define STORE(field, value) __atomic_store_n(&g.field, (value), __ATOMIC_RELAXED)

static void start_anew(uint32_t generation)
{
	memset(&g, 0, sizeof(g));
	for (int i = 0; i < MOST_DEVICES; i++)
		g.next_peak_bytes[i] = FIRST_PEAK_BYTES;
	g.next_growth = FIRST_GROWTH;
	g.start_ns = vt_sys_now_ns(CLOCK_MONOTONIC);
	STORE(generation, generation);
}

static int is_on(void)
{
	uint32_t generation;

	if (!vt_tracker_is_active() || !vt_config()->probe)
		return 0;
	generation = vt_thread_generation();
	if (LOAD(generation) != generation)
		start_anew(generation);
	return 1;
}

static int64_t balance_ns(uint64_t now_ns)
{
	return (int64_t)(INITIAL_NS + (now_ns - LOAD(start_ns)) / SHARE) - (int64_t)LOAD(spent_ns);
}

static int is_growth_affordable(uint64_t now_ns)
{
	return LOAD(nr_growth) < FREE_GROWTH ||
	       LOAD(growth_spent_ns) + LOAD(growth_last_ns) <= (now_ns - LOAD(start_ns)) / SHARE;
}

static int is_affordable(enum reason reason, uint64_t now_ns)
{
	int64_t balance = balance_ns(now_ns);

	if (vt_config()->probe == ALWAYS)
		return 1;
	if (reason == REASON_GROWTH)
		return is_growth_affordable(now_ns);
	if (reason == REASON_CODE)
		return balance > 0 || !(LOAD(looked) >> reason & 1);
	if (reasons[reason].is_landmark)
		return LOAD(landmarks_ns) < LANDMARKS_NS || !(LOAD(looked) >> reason & 1);
	return balance >= (int64_t)LOAD(last_ns) && now_ns >= LOAD(not_before_ns);
}

/* The peaks that are worth a look from here on. */
static void raise_peaks(uint64_t now_ns)
{
	int is_loading = !LOAD(nr_modules) && now_ns < LOAD(start_ns) + LOADING_NS;

	for (int i = 0; i < MOST_DEVICES; i++) {
		uint64_t peak = LOAD(peak_bytes[i]);
		uint64_t next = peak + peak / LATER_SHARE + LARGE_BYTES;

		if (is_loading)
			next = LOADING_FACTOR * peak;
		if (is_loading && next < FIRST_PEAK_BYTES)
			next = FIRST_PEAK_BYTES;
		STORE(next_peak_bytes[i], next);
	}
}

static void account(enum reason reason, uint64_t cpu_ns, uint64_t end_ns)
{
	raise_peaks(end_ns);
	if (reason == REASON_GROWTH) {
		STORE(nr_growth, LOAD(nr_growth) + 1);
		STORE(growth_spent_ns, LOAD(growth_spent_ns) + cpu_ns);
		STORE(growth_last_ns, cpu_ns);
		return;
	}
	STORE(spent_ns, LOAD(spent_ns) + cpu_ns);
	if (reasons[reason].is_landmark)
		STORE(landmarks_ns, LOAD(landmarks_ns) + cpu_ns);
	STORE(last_ns, cpu_ns);
	STORE(not_before_ns, end_ns + PAUSE_FACTOR * cpu_ns);
}

static enum reason first_of(uint32_t bits)
{
	/* It sees what the others would. */
	if (bits & 1u << REASON_GROWTH)
		return REASON_GROWTH;
	return (enum reason)__builtin_ctz(bits);
}

static enum vt_probe_scope scope_of(enum reason reason)
{
	if (reason == REASON_CODE)
		return VT_PROBE_SOURCES;
	return reason == REASON_GROWTH ? VT_PROBE_HOLDERS : VT_PROBE_NAMES;
}

/* Returns -1 where an exception of the host is to go on. */
static int look(const struct vt_probe_api *api, enum reason reason)
{
	uint64_t start_ns = vt_sys_now_ns(CLOCK_MONOTONIC), end_ns;
	uint64_t cpu_ns = vt_sys_now_ns(CLOCK_THREAD_CPUTIME_ID), deadline_ns;
	enum vt_probe_answer answer;

	if (vt_probe_records_begin() < 0)
		return 0;
	deadline_ns = start_ns + (reason == REASON_GROWTH ? MOST_GROWTH_NS : MOST_NS);
	if (vt_config()->probe == ALWAYS)
		deadline_ns = UINT64_MAX;
	answer = vt_probe_program_run(api, deadline_ns, scope_of(reason));
	end_ns = vt_sys_now_ns(CLOCK_MONOTONIC);
	vt_probe_records_end(start_ns, end_ns - start_ns, reasons[reason].text);
	__atomic_fetch_or(&g.looked, 1u << reason, __ATOMIC_RELAXED);
	account(reason, vt_sys_now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns, end_ns);
	return answer == VT_PROBE_RAISED ? -1 : 0;
}

/* Called by the interpreter: main thread, GIL held, between two instructions. */
static int run_pending(void *context)
{
	const struct vt_probe_api *api;
	uint32_t bits;
	int saved = errno, rc = 0;

	(void)context;
	STORE(is_queued, 0);
	bits = __atomic_exchange_n(&g.requested, 0, __ATOMIC_RELAXED);
	api = bits && is_on() ? vt_probe_api_find() : NULL;
	if (api && vt_probe_program_can_run(api)) {
		rc = look(api, first_of(bits));
	} else if (api) {
		__atomic_fetch_or(&g.requested, bits, __ATOMIC_RELAXED);
		STORE(not_before_ns, vt_sys_now_ns(CLOCK_MONOTONIC) + RETRY_NS);
	}
	errno = saved;
	return rc;
}

static void queue(void)
{
	const struct vt_probe_api *api = vt_probe_api_find();

	if (!api || __atomic_exchange_n(&g.is_queued, 1, __ATOMIC_RELAXED))
		return;
	/* Its queue is full: what was requested is still wanted at the next event. */
	if (api->Py_AddPendingCall(run_pending, NULL))
		STORE(is_queued, 0);
}

static void request(enum reason reason, uint64_t now_ns)
{
	if (!is_affordable(reason, now_ns))
		return;
	__atomic_fetch_or(&g.requested, 1u << reason, __ATOMIC_RELAXED);
	queue();
}

/* Whether this thread works for a module tree whose call was not seen before. */
static int is_new_call(void)
{
	uint64_t module = vt_thread_self()->module_call;
	uint64_t *place;

	if (!module)
		return 0;
	place = &g.modules[(module * 0x9e3779b97f4a7c15ull >> 32) % MOST_MODULES];
	if (__atomic_load_n(place, __ATOMIC_RELAXED) == module ||
	    LOAD(nr_modules) >= LANDMARK_MODULES)
		return 0;
	__atomic_store_n(place, module, __ATOMIC_RELAXED);
	if (!LOAD(nr_modules))
		STORE(first_call_ns, vt_sys_now_ns(CLOCK_MONOTONIC));
	STORE(nr_modules, LOAD(nr_modules) + 1);
	return 1;
}

/* Whether more is allocated than the last time that somebody asked. */
static int has_grown(void)
{
	uint64_t bytes = 0, before = LOAD(grown_bytes);

	for (int i = 0; i < MOST_DEVICES; i++)
		bytes += LOAD(allocated_bytes[i]);
	STORE(grown_bytes, bytes);
	return before && bytes > before;
}

static int is_new_peak(const struct vt_event_record *event)
{
	uint64_t bytes = event->allocated_bytes;

	if (event->device < 0 || event->device >= MOST_DEVICES)
		return 0;
	STORE(allocated_bytes[event->device], bytes);
	if (bytes <= LOAD(peak_bytes[event->device]))
		return 0;
	STORE(peak_bytes[event->device], bytes);
	return bytes >= LOAD(next_peak_bytes[event->device]);
}

/* Where nothing steps, one peak after the other is growth. */
static void note_peak(uint64_t time_ns)
{
	request(REASON_PEAK, time_ns);
	if (LOAD(nr_modules) && !LOAD(nr_steps) && has_grown() &&
	    time_ns > LOAD(first_call_ns) + FIRST_STEP_NS)
		request(REASON_GROWTH, time_ns);
}

static void note_made_code(uint64_t time_ns)
{
	uint32_t nr = vt_python_code_nr_made();

	if (nr == LOAD(nr_made) || !is_affordable(REASON_CODE, time_ns))
		return;
	STORE(nr_made, nr);
	request(REASON_CODE, time_ns);
}

void vt_probe_note_block(const struct vt_event_record *event)
{
	int saved = errno;

	if (!event->time_ns || !is_on())
		return;
	if (is_new_peak(event))
		note_peak(event->time_ns);
	if (is_new_call())
		request(REASON_CALL, event->time_ns);
	note_made_code(event->time_ns);
	if (LOAD(requested) && !LOAD(is_queued) && event->time_ns >= LOAD(not_before_ns))
		queue();
	errno = saved;
}

static void note(enum reason reason)
{
	int saved = errno;

	if (is_on())
		request(reason, vt_sys_now_ns(CLOCK_MONOTONIC));
	errno = saved;
}

void vt_probe_note_out_of_memory(void)
{
	note(REASON_OUT_OF_MEMORY);
}

void vt_probe_note_mark(void)
{
	note(REASON_MARK);
}

void vt_probe_note_range_end(const char *name)
{
	uint32_t nr_steps;

	if (strncmp(name, VT_PROBE_STEP_PREFIX, strlen(VT_PROBE_STEP_PREFIX)) || !is_on())
		return;
	nr_steps = LOAD(nr_steps) + 1;
	STORE(nr_steps, nr_steps);
	if (nr_steps <= LANDMARK_STEPS)
		note(REASON_STEP);
	if (nr_steps != LOAD(next_growth))
		return;
	STORE(next_growth, 2 * nr_steps);
	/* At the first it is what the steps are compared with. */
	if (has_grown() && nr_steps > FIRST_GROWTH)
		note(REASON_GROWTH);
}
