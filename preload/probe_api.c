/* SPDX-License-Identifier: MIT */
#include "preload/probe_api.h"

#include <stddef.h>

#include "preload/info.h"
#include "preload/python_stack.h"
#include "preload/thread_state.h"

enum state {
	STATE_NEW = 0,
	STATE_SEARCHING, /* one thread looks, the others go without */
	STATE_READY,
	STATE_REFUSED,
};

static struct {
	uint32_t generation;	/* atomic: the recording that the state belongs to */
	int state;		/* atomic, enum state; the rest is written before READY */
	struct vt_probe_api api;
} g;

static int find_all(struct vt_probe_api *api)
{
	int is_complete = 1;

#define FIND(result, name, arguments) api->name = vt_python_stack_symbol(#name);
#define NEED(result, name, arguments) is_complete &= api->name != NULL;
	VT_PROBE_API(FIND)
	VT_PROBE_API(NEED)
	VT_PROBE_API_LATER(FIND)
#undef FIND
#undef NEED
	api->none = vt_python_stack_symbol("_Py_NoneStruct");
	api->default_eval = vt_python_stack_symbol("_PyEval_EvalFrameDefault");
	api->exception = vt_python_stack_symbol("PyExc_Exception");
	return is_complete && api->exception && api->none && api->default_eval;
}

/* Said once in the recording, so that names that are not there have a reason. */
static enum state search(const struct vt_python *python)
{
	g.api.abi = python->abi;
	if (python->abi.is_free_threaded) {
		vt_info_once("probe", "off: free-threaded Python");
		return STATE_REFUSED;
	}
	if (!find_all(&g.api)) {
		vt_info_once("probe", "off: this Python lacks a required function");
		return STATE_REFUSED;
	}
	return STATE_READY;
}

const struct vt_probe_api *vt_probe_api_find(void)
{
	const struct vt_python *python = vt_python_stack_interpreter();
	uint32_t generation = vt_thread_generation();
	int state;

	if (!python)
		return NULL;
	if (__atomic_exchange_n(&g.generation, generation, __ATOMIC_ACQ_REL) != generation)
		__atomic_store_n(&g.state, STATE_NEW, __ATOMIC_RELEASE);
	state = __atomic_load_n(&g.state, __ATOMIC_ACQUIRE);
	if (state == STATE_NEW &&
	    __atomic_compare_exchange_n(&g.state, &state, STATE_SEARCHING, 0, __ATOMIC_ACQUIRE,
					__ATOMIC_ACQUIRE)) {
		state = search(python);
		__atomic_store_n(&g.state, state, __ATOMIC_RELEASE);
	}
	return state == STATE_READY ? &g.api : NULL;
}
