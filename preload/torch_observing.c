/* SPDX-License-Identifier: MIT */
#include "preload/torch_observing.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "preload/info.h"
#include "preload/journal.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "preload/sys.h"
#include "preload/thread_state.h"
#include "preload/torch_values.h"

/* Operators of a process that are recorded at most: some 40 MB of database. */
#define MOST_RECORDS 200000u

/*
 * A stretch ends with a step of an optimizer, so that no forward is cut in two, once nothing new
 * has come for two steps, in which the graph of a step is seen as it will repeat, and for so many
 * operators; or in the middle, where nothing steps, or steps are too long.
 */
#define QUIET_STEPS	     2u
#define QUIET_OPERATORS	     4096u
#define QUIET_WITHOUT_STEPS 16384u
#define QUIET_IN_STEPS	     65536u

/*
 * What an observed operator costs at most: 0.5 us in PyTorch, which packs its arguments, and 0.4 to
 * 1 us here (tests/bench/README.md).
 */
#define OPERATOR_NS    2000u
#define SHARE	       1000u	/* of the run's time */
#define FREE_STEPS     2u	/* until then the time is not limited, */
#define FREE_OPERATORS 60000u	/* but this is */
#define RESERVE	       2048u	/* operators that a stretch must have time for */
#define CHECK_EACH     256u	/* operators, of the time; power of two */

enum state {
	STATE_NONE,
	STATE_ON,
	STATE_OFF,
	STATE_SWITCHING,
	STATE_ENDED,
};

uint32_t vt_torch_observing_known = UINT32_MAX;

static struct {
	int state; /* atomic, as all others; enum state */
	uint32_t newest;      /* Python stack that has the highest number of those that were seen */
	uint32_t nr_seen;     /* operators while on */
	uint32_t nr_records;
	uint32_t nr_steps;
	uint32_t quiet;	      /* operators since the last new stack */
	uint32_t quiet_steps;
	uint64_t handle;
	vt_torch_switch_callback_fn disable;
	vt_torch_switch_callback_fn enable;
} g;

#define LOAD(field)	   __atomic_load_n(&g.field, __ATOMIC_RELAXED)
#define STORE(field, value) __atomic_store_n(&g.field, value, __ATOMIC_RELAXED)
#define ADD(field)	   __atomic_add_fetch(&g.field, 1, __ATOMIC_RELAXED)

/*
 * Above which stacks are to be noted.  While the observer is on it sees them itself; while the
 * layout of PyTorch's values is being proven every block is wanted.
 */
static uint32_t known_stacks(void)
{
	switch (LOAD(state)) {
	case STATE_ON:
		return vt_torch_values_layout() == VT_TORCH_LAYOUT_UNPROVEN ? 0 : UINT32_MAX;
	case STATE_OFF:
		return LOAD(newest);
	default:
		return UINT32_MAX;
	}
}

static void publish_known(void)
{
	__atomic_store_n(&vt_torch_observing_known, known_stacks(), __ATOMIC_RELAXED);
}

static int claim(int from)
{
	return __atomic_compare_exchange_n(&g.state, &from, STATE_SWITCHING, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/*
 * PyTorch's switches take its list's lock, under which nothing but that list is copied; threads see
 * the new list at their next operator.  What is in progress still ends as it began.
 */
static void switch_to(int state)
{
	int saved = errno;

	(state == STATE_ON ? g.enable : g.disable)(g.handle);
	STORE(quiet, 0);
	STORE(quiet_steps, 0);
	__atomic_store_n(&g.state, state, __ATOMIC_RELEASE);
	publish_known();
	errno = saved;
}

void vt_torch_observing_start(uint64_t handle, vt_torch_switch_callback_fn disable,
			      vt_torch_switch_callback_fn enable)
{
	g.handle = handle;
	g.disable = disable;
	g.enable = enable;
	__atomic_store_n(&g.state, STATE_ON, __ATOMIC_RELEASE);
	publish_known();
}

void vt_torch_observing_end(void)
{
	if (claim(STATE_ON))
		switch_to(STATE_ENDED);
}

/* Whether so many operators more are within what they may cost. */
static int has_time_for(uint32_t nr_operators)
{
	const struct vt_journal_header *header = vt_journal_header();
	uint64_t cost_ns, elapsed_ns;

	/* Our simulated driver says so by having this symbol; NVIDIA's has not. */
	if (vt_real_is_known(VT_REAL_vts_is_simulated))
		return 1;
	if (LOAD(nr_steps) < FREE_STEPS && LOAD(nr_seen) < FREE_OPERATORS)
		return 1;
	if (!header)
		return 0;
	elapsed_ns = vt_sys_now_ns(CLOCK_MONOTONIC) - header->start_time_ns;
	cost_ns = ((uint64_t)LOAD(nr_seen) + nr_operators) * OPERATOR_NS;
	return cost_ns <= elapsed_ns / SHARE;
}

static int is_quiet(uint32_t quiet)
{
	return quiet >= (LOAD(nr_steps) ? QUIET_IN_STEPS : QUIET_WITHOUT_STEPS);
}

int vt_torch_observing_count(uint32_t python_stack)
{
	uint32_t nr_seen = ADD(nr_seen), quiet = ADD(quiet);

	if (python_stack > LOAD(newest)) {
		STORE(newest, python_stack);
		STORE(quiet, 0);
		STORE(quiet_steps, 0);
		quiet = 0;
	}
	if (vt_torch_values_layout() == VT_TORCH_LAYOUT_OTHER)
		vt_info_once("operators", "not observed: unknown layout of operator calls");
	if (vt_torch_values_layout() == VT_TORCH_LAYOUT_OTHER || LOAD(nr_records) >= MOST_RECORDS ||
	    !vt_journal_is_recording()) {
		vt_torch_observing_end();
		return 0;
	}
	if ((is_quiet(quiet) || (nr_seen % CHECK_EACH == 0 && !has_time_for(0))) &&
	    claim(STATE_ON))
		switch_to(STATE_OFF);
	return 1;
}

void vt_torch_observing_count_record(void)
{
	ADD(nr_records);
}

void vt_torch_observing_note_range_end(const char *name)
{
	if (strncmp(name, VT_PROBE_STEP_PREFIX, strlen(VT_PROBE_STEP_PREFIX)))
		return;
	ADD(nr_steps);
	if (ADD(quiet_steps) >= QUIET_STEPS && LOAD(quiet) >= QUIET_OPERATORS && claim(STATE_ON))
		switch_to(STATE_OFF);
}

void vt_torch_observing_note_new(const struct vt_event_record *event)
{
	int state = LOAD(state);

	if (state == STATE_ON) {
		vt_thread_self()->last_block = event->address;
		publish_known();
		return;
	}
	if (state != STATE_OFF)
		return;
	STORE(newest, event->python_stack);
	if (has_time_for(RESERVE) && claim(STATE_OFF))
		switch_to(STATE_ON);
	else
		publish_known();
}
