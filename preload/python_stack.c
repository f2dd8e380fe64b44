/* SPDX-License-Identifier: MIT */
/*
 * Finding the interpreter costs a few symbol look-ups: done when the journal opens, and again now
 * and then as long as there is none, for programs that load Python later.
 */

#include "preload/python_stack.h"

#include "preload/python_abi.h"
#include "preload/info.h"
#include "preload/python_code.h"
#include "preload/python_frees.h"
#include "preload/python_self.h"
#include "preload/python_walk.h"
#include "preload/real.h"

/* Captures between two look-ups while there is no interpreter: 1, 2, 4, ... up to this. */
#define LONGEST_PAUSE 4096u

enum state {
	STATE_ABSENT = 0,
	STATE_SEARCHING, /* one thread looks, the others go without */
	STATE_READY,
	STATE_REFUSED,
};

static struct {
	int state;	 /* atomic, enum state; the rest is written before READY */
	uint32_t missed; /* atomic: captures since the start */
	uint32_t next;	 /* look again when missed reaches this */
	struct vt_python python;
} g;

/* The interpreter is the program itself or in the global scope; an embedder may have hidden it. */
void *vt_python_stack_symbol(const char *symbol)
{
	void *address = vt_real_symbol_global(symbol);

	return address ? address : vt_real_symbol_in("libpython3", symbol);
}

static void search(void)
{
	enum vt_python_answer answer = vt_python_abi_find(&g.python, vt_python_stack_symbol);
	enum state state = STATE_ABSENT;

	if (answer == VT_PYTHON_READY) {
		state = STATE_READY;
		vt_python_frees_watch(g.python.code_type, g.python.abi.type_free);
		vt_info_once("python", g.python.version);
	} else if (answer == VT_PYTHON_REFUSED) {
		state = STATE_REFUSED;
		vt_info_once("python", g.python.version);
		vt_info_once("python_stacks", "none: unsupported Python version");
	}
	__atomic_store_n(&g.state, state, __ATOMIC_RELEASE);
}

/* Whether g.python may be used. */
static int is_ready(void)
{
	int state = __atomic_load_n(&g.state, __ATOMIC_ACQUIRE);
	uint32_t missed;

	if (state != STATE_ABSENT)
		return state == STATE_READY;
	missed = __atomic_fetch_add(&g.missed, 1, __ATOMIC_RELAXED);
	if (missed < __atomic_load_n(&g.next, __ATOMIC_RELAXED))
		return 0;
	if (!__atomic_compare_exchange_n(&g.state, &state, STATE_SEARCHING, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return 0;
	__atomic_store_n(&g.next, missed + (missed < LONGEST_PAUSE ? missed + 1 : LONGEST_PAUSE),
			 __ATOMIC_RELAXED);
	search();
	return __atomic_load_n(&g.state, __ATOMIC_RELAXED) == STATE_READY;
}

const struct vt_python *vt_python_stack_interpreter(void)
{
	return is_ready() && !g.python.is_finalizing() ? &g.python : NULL;
}

uint32_t vt_python_stack_capture(void)
{
	return vt_python_stack_interpreter() ? vt_python_walk_intern(&g.python) : 0;
}

int vt_python_stack_reset(void)
{
	vt_python_self_reset();
	vt_python_walk_reset();
	g.missed = 0;
	g.next = 0;
	__atomic_store_n(&g.state, STATE_ABSENT, __ATOMIC_RELEASE);
	return vt_python_code_reset();
}
