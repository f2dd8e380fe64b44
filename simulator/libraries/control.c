/* SPDX-License-Identifier: MIT */
/*
 * The interpreter is not linked: its functions are looked up in the process.  The first context is
 * the moment to choose: PyTorch is imported by then, and no tensor that could decide anything
 * exists before.
 */
#include "control.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../verbose.h"

enum { FILE_INPUT = 257 /* Py_file_input */ };

typedef int (*add_pending_fn)(int (*function)(void *), void *argument);
typedef void *(*compile_fn)(const char *source, const char *file, int start, void *flags,
			    int optimize);
typedef void *(*new_dict_fn)(void);
typedef int (*set_item_fn)(void *dictionary, const char *key, void *value);
typedef void *(*builtins_fn)(void);
typedef void *(*evaluate_fn)(void *code, void *globals, void *locals);
typedef void (*no_argument_fn)(void);

/* control_scripts.S */
extern const char vts_control_data_dependent[];
extern const char vts_control_one_rank[];
extern const char vts_control_values[];

static struct {
	int is_requested;      /* what waits for a context */
	int is_rank_requested; /* what waits for the client's libraries */
} g;

static void *find(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

/* The script's globals are never released: they hold what it installed. */
static void evaluate(const char *source)
{
	compile_fn compile = (compile_fn)find("Py_CompileStringExFlags");
	evaluate_fn eval = (evaluate_fn)find("PyEval_EvalCode");
	builtins_fn builtins = (builtins_fn)find("PyEval_GetBuiltins");
	set_item_fn set_item = (set_item_fn)find("PyDict_SetItemString");
	new_dict_fn new_dict = (new_dict_fn)find("PyDict_New");
	no_argument_fn clear = (no_argument_fn)find("PyErr_Clear");
	no_argument_fn print = (no_argument_fn)find("PyErr_Print");
	void *code, *globals;

	if (!compile || !eval || !builtins || !set_item || !new_dict || !clear || !print)
		return;
	globals = new_dict();
	code = compile(source, "<vtrace-simulator>", FILE_INPUT, NULL, -1);
	if (globals && code && !set_item(globals, "__builtins__", builtins()) &&
	    eval(code, globals, globals))
		return;
	if (vts_is_verbose())
		print();
	clear();
}

/*
 * Runs in the main thread with the GIL, between two bytecodes; must not leave an exception behind.
 */
static int install(void *unused)
{
	const char *wanted = getenv("VTRACE_SIM_CONTROL_VALUES");

	(void)unused;
	evaluate(vts_control_data_dependent);
	if (!wanted || strcmp(wanted, "0"))
		evaluate(vts_control_values);
	return 0;
}

/* As install(), before the modules that it waits for are imported. */
static int install_rank(void *unused)
{
	(void)unused;
	evaluate(vts_control_one_rank);
	return 0;
}

static void request(int *is_requested, int (*function)(void *))
{
	add_pending_fn add_pending;

	if (__atomic_exchange_n(is_requested, 1, __ATOMIC_RELAXED))
		return;
	add_pending = (add_pending_fn)find("Py_AddPendingCall");
	/* The interpreter's queue may be full: the next one asks again. */
	if (add_pending && add_pending(function, NULL))
		__atomic_store_n(is_requested, 0, __ATOMIC_RELAXED);
}

__attribute__((visibility("default"))) void vtrace_simulator_context_made(void)
{
	request(&g.is_requested, install);
}

__attribute__((visibility("default"))) void vtrace_simulator_client_loads(void)
{
	if (getenv("VTRACE_SIM_RANK"))
		request(&g.is_rank_requested, install_rank);
}
