/* SPDX-License-Identifier: MIT */
/*
 * Nothing of the host may change by our running, so before the first Python instruction:
 *
 *  - the error indicator is set aside;
 *  - garbage is not collected until we are through: a collection runs the program's destructors;
 *  - trace and profile functions do not see us: switched off for this thread where the interpreter
 *    can do that (3.11), else we do not run while there are any;
 *  - a function that replaces the evaluation of frames (torch.compile, debuggers) does not see us:
 *    we do not run while there is one.
 */
#include "preload/probe_program.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "preload/config.h"
#include "preload/probe_records.h"
#include "preload/python_read.h"
#include "preload/real.h"
#include "preload/sys.h"

#define FILE_NAME "<vtrace probe>"
#define KEPT_AS	  "vtrace probe"

/* Locals of a frame; a function with more is not written by hand. */
#define MOST_LOCALS 4096

/* PyFrameObject.f_frame, 3.11 and 3.12 (Include/internal/pycore_frame.h). */
#define FRAME_OBJECT_FRAME 24

/*
 * PyTorch's stable C interface (aoti_torch/c/shim.h): a tensor is passed as a pointer to an
 * at::Tensor, which is one pointer, the number that tensor._cdata is.
 */
#define STORAGE_SIZE "aoti_torch_get_storage_size"
typedef int32_t (*storage_size_fn)(void *const *tensor, int64_t *bytes);

static struct {
	const struct vt_probe_api *api;	/* valid while the program runs, under the GIL */
	uint64_t deadline_ns;
	enum vt_probe_scope scope;
	storage_size_fn storage_size;
} g;

static void *none(void)
{
	g.api->Py_IncRef(g.api->none);
	return g.api->none;
}

static uint64_t number(void *object)
{
	return g.api->PyLong_AsUnsignedLongLong(object);
}

/* Text of our own making is UTF-8; what cannot be (a lone surrogate) becomes nothing. */
static struct vt_probe_text text(void *object)
{
	struct vt_probe_text result = { "", 0 };
	ssize_t len = 0;
	const char *bytes = g.api->PyUnicode_AsUTF8AndSize(object, &len);

	if (bytes)
		result = (struct vt_probe_text){ bytes, (size_t)len };
	else
		g.api->PyErr_Clear();
	return result;
}

/* The first four arguments of both: what distinguishes a tensor and its name from others. */
static struct vt_probe_tensor named_tensor(void *const *arguments)
{
	return (struct vt_probe_tensor){
		.address = number(arguments[0]),
		.role = (uint32_t)number(arguments[1]),
		.name = text(arguments[2]),
		.holder = text(arguments[3]),
	};
}

/* has_tensor(address, role, name, holder): whether it need not be written. */
static void *has_tensor(void *self, void *const *arguments, ssize_t nr)
{
	struct vt_probe_tensor tensor;

	(void)self;
	if (nr != 4)
		return none();
	tensor = named_tensor(arguments);
	return g.api->PyBool_FromLong(vt_probe_records_has_tensor(&tensor));
}

/* write_tensor(address, role, name, holder, size_bytes, device, flags, dtype, shape) */
static void *tensor(void *self, void *const *arguments, ssize_t nr)
{
	struct vt_probe_tensor tensor;

	(void)self;
	if (nr != 9)
		return none();
	tensor = named_tensor(arguments);
	tensor.size_bytes = number(arguments[4]);
	tensor.device = (int32_t)number(arguments[5]);
	tensor.flags = (uint32_t)number(arguments[6]);
	tensor.dtype = text(arguments[7]);
	tensor.shape = text(arguments[8]);
	if (g.api->PyErr_Occurred())
		return NULL;
	vt_probe_records_tensor(&tensor);
	return none();
}

/* write_module(address, class_name, name, holder, root_address) */
static void *module(void *self, void *const *arguments, ssize_t nr)
{
	struct vt_probe_module module;

	(void)self;
	if (nr != 5)
		return none();
	module = (struct vt_probe_module){
		.address = number(arguments[0]),
		.class_name = text(arguments[1]),
		.name = text(arguments[2]),
		.holder = text(arguments[3]),
		.root_address = number(arguments[4]),
	};
	if (g.api->PyErr_Occurred())
		return NULL;
	vt_probe_records_module(&module);
	return none();
}

/* has_source(kind, file): whether a text was written for it */
static void *has_source(void *self, void *const *arguments, ssize_t nr)
{
	struct vt_probe_text file;
	uint64_t kind;

	(void)self;
	if (nr != 2)
		return none();
	kind = number(arguments[0]);
	file = text(arguments[1]);
	if (g.api->PyErr_Occurred())
		return NULL;
	return g.api->PyLong_FromUnsignedLongLong(
		(unsigned long long)vt_probe_records_has_source((uint32_t)kind, &file));
}

/* write_source(kind, file, text) */
static void *source(void *self, void *const *arguments, ssize_t nr)
{
	struct vt_probe_text file, content;
	uint64_t kind;

	(void)self;
	if (nr != 3)
		return none();
	kind = number(arguments[0]);
	file = text(arguments[1]);
	content = text(arguments[2]);
	if (g.api->PyErr_Occurred())
		return NULL;
	vt_probe_records_source((uint32_t)kind, &file, &content);
	return none();
}

/* storage_bytes(cdata): None where this PyTorch cannot be asked from C. */
static void *storage_bytes(void *self, void *const *arguments, ssize_t nr)
{
	void *impl;
	int64_t bytes = 0;

	(void)self;
	if (nr != 1 || !g.storage_size)
		return none();
	impl = (void *)(uintptr_t)number(arguments[0]);
	if (g.api->PyErr_Occurred() || !impl || g.storage_size(&impl, &bytes) || bytes < 0) {
		g.api->PyErr_Clear();
		return none();
	}
	return g.api->PyLong_FromUnsignedLongLong((unsigned long long)bytes);
}

/*
 * variables(object): its __dict__, or None.  Not object.__dict__, which a class may have made a
 * property.
 */
static void *variables(void *self, void *const *arguments, ssize_t nr)
{
	void *dict;

	(void)self;
	if (nr != 1)
		return none();
	dict = g.api->PyObject_GenericGetDict(arguments[0], NULL);
	if (dict)
		return dict;
	g.api->PyErr_Clear();
	return none();
}

/*
 * fast_locals(frame, nr): the first nr variables, cells and free variables of a function's frame
 * until 3.12, None for what has no value.  frame.f_locals would keep all of them alive until the
 * frame ends.
 */
static void *fast_locals(void *self, void *const *arguments, ssize_t nr)
{
	const struct vt_python_abi *abi = &g.api->abi;
	const char *frame;
	ssize_t wanted;
	void *tuple;

	(void)self;
	wanted = nr == 2 ? (ssize_t)number(arguments[1]) : -1;
	if (wanted < 0 || wanted > MOST_LOCALS || abi->minor > 12)
		return none();
	frame = arguments[0];
	if (abi->frame_owner)
		frame = vt_python_read_pointer(frame, FRAME_OBJECT_FRAME);
	tuple = g.api->PyTuple_New(wanted);
	for (ssize_t i = 0; tuple && i < wanted; i++) {
		void *value = (void *)vt_python_read_pointer(
			frame, abi->frame_locals + (size_t)i * sizeof(void *));

		if (!value)
			value = g.api->none;
		g.api->Py_IncRef(value);
		g.api->PyTuple_SetItem(tuple, i, value);
	}
	return tuple;
}

/* is_late(): whether to stop. */
static void *is_late(void *self, void *const *arguments, ssize_t nr)
{
	(void)self;
	(void)arguments;
	(void)nr;
	return g.api->PyBool_FromLong(vt_sys_now_ns(CLOCK_MONOTONIC) >= g.deadline_ns);
}

/* was_seen(address): whether the storage was asked for before, and has not been freed since. */
static void *was_seen(void *self, void *const *arguments, ssize_t nr)
{
	(void)self;
	if (nr != 1)
		return none();
	return g.api->PyBool_FromLong(vt_probe_records_was_seen(number(arguments[0])));
}

static struct vt_probe_method methods[] = {
	{ "has_tensor", has_tensor, VT_PROBE_FAST_CALL, NULL },
	{ "write_tensor", tensor, VT_PROBE_FAST_CALL, NULL },
	{ "write_module", module, VT_PROBE_FAST_CALL, NULL },
	{ "has_source", has_source, VT_PROBE_FAST_CALL, NULL },
	{ "write_source", source, VT_PROBE_FAST_CALL, NULL },
	{ "storage_bytes", storage_bytes, VT_PROBE_FAST_CALL, NULL },
	{ "variables", variables, VT_PROBE_FAST_CALL, NULL },
	{ "fast_locals", fast_locals, VT_PROBE_FAST_CALL, NULL },
	{ "is_late", is_late, VT_PROBE_FAST_CALL, NULL },
	{ "was_seen", was_seen, VT_PROBE_FAST_CALL, NULL },
};

/* Takes over `value`.  Returns 0, or -1 with an exception set. */
static int set(const struct vt_probe_api *api, void *dict, const char *key, void *value)
{
	int rc = value ? api->PyDict_SetItemString(dict, key, value) : -1;

	if (value)
		api->Py_DecRef(value);
	return rc;
}

static int fill(const struct vt_probe_api *api, void *names)
{
	void *modules = api->PyImport_GetModuleDict();
	void *builtins = api->PyDict_GetItemString(modules, "builtins");

	if (!builtins || api->PyDict_SetItemString(names, "__builtins__", builtins) ||
	    api->PyDict_SetItemString(names, "MODULES", modules))
		return -1;
	if (set(api, names, "__name__", api->PyUnicode_FromString(FILE_NAME)) ||
	    set(api, names, "MINOR", api->PyLong_FromUnsignedLongLong(api->abi.minor)) ||
	    set(api, names, "REDACT", api->PyLong_FromUnsignedLongLong(vt_config()->redact)))
		return -1;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (set(api, names, methods[i].name,
			api->PyCFunction_NewEx(&methods[i], NULL, NULL)))
			return -1;
	return 0;
}

/* Runs a text in `names`.  Returns 0, or -1 with an exception set. */
static int execute(const struct vt_probe_api *api, const char *source, void *names)
{
	void *code = api->Py_CompileString(source, FILE_NAME, VT_PROBE_FILE_INPUT);
	void *result = code ? api->PyEval_EvalCode(code, names, names) : NULL;
	int rc = result ? 0 : -1;

	if (code)
		api->Py_DecRef(code);
	if (result)
		api->Py_DecRef(result);
	return rc;
}

/* The global names of the compiled program (a new reference), or NULL with an exception set. */
static void *compile(const struct vt_probe_api *api)
{
	void *names = api->PyDict_New();

	if (!names)
		return NULL;
	if (!fill(api, names) && !execute(api, vt_embedded_probe_kinds, names) &&
	    !execute(api, vt_embedded_probe, names) &&
	    !execute(api, vt_embedded_probe_holders, names))
		return names;
	api->Py_DecRef(names);
	return NULL;
}

/* The program's function `look` (borrowed), or NULL. */
static void *find_look(const struct vt_probe_api *api)
{
	void *kept = api->PyInterpreterState_GetDict(api->PyInterpreterState_Get());
	void *names = kept ? api->PyDict_GetItemString(kept, KEPT_AS) : NULL;

	if (kept && !names && !set(api, kept, KEPT_AS, compile(api)))
		names = api->PyDict_GetItemString(kept, KEPT_AS);
	return names ? api->PyDict_GetItemString(names, "look") : NULL;
}

/*
 * look(frame, thread, scope): the innermost frame of the host and the thread's number, as
 * sys._current_frames() has it.
 */
static void *call(const struct vt_probe_api *api, void *look)
{
	void *frame = api->PyEval_GetFrame();
	void *arguments = api->PyTuple_New(3), *result;

	if (!arguments)
		return NULL;
	if (!frame)
		frame = api->none;
	api->Py_IncRef(frame);
	api->PyTuple_SetItem(arguments, 0, frame);
	api->PyTuple_SetItem(arguments, 1,
			     api->PyLong_FromUnsignedLongLong(api->PyThread_get_thread_ident()));
	api->PyTuple_SetItem(arguments, 2,
			     api->PyLong_FromUnsignedLongLong((unsigned long long)g.scope));
	result = api->PyObject_CallObject(look, arguments);
	api->Py_DecRef(arguments);
	return result;
}

/* Whether a trace or profile function is there, where it cannot be switched off. */
static int is_watched(const struct vt_probe_api *api)
{
	static const char *const getters[] = { "gettrace", "getprofile" };

	if (api->PyThreadState_EnterTracing && api->PyThreadState_LeaveTracing)
		return 0;
	for (int i = 0; i < 2; i++) {
		void *getter = api->PySys_GetObject(getters[i]);
		void *function = getter ? api->PyObject_CallObject(getter, NULL) : NULL;

		if (!function)
			api->PyErr_Clear();
		else
			api->Py_DecRef(function);
		if (function != api->none)
			return 1;
	}
	return 0;
}

/*
 * The program has caught what it made itself.  An exception that comes out of it was raised into
 * it: by a signal handler, which runs between any two instructions.  It continues to the host,
 * without our frames in its traceback.
 */
static enum vt_probe_answer pass_on(const struct vt_probe_api *api)
{
	void *type, *value, *traceback;

	api->PyErr_Fetch(&type, &value, &traceback);
	api->PyErr_NormalizeException(&type, &value, &traceback);
	if (value)
		api->PyException_SetTraceback(value, api->none);
	if (traceback)
		api->Py_DecRef(traceback);
	api->PyErr_Restore(type, value, NULL);
	return VT_PROBE_RAISED;
}

/* An exception of the machine (no memory, too deep) is ours to forget, an interrupt is not. */
static enum vt_probe_answer end_badly(const struct vt_probe_api *api)
{
	if (api->PyErr_Occurred() && !api->PyErr_ExceptionMatches(*api->exception))
		return pass_on(api);
	api->PyErr_Clear();
	return VT_PROBE_DONE;
}

/* Whether the exception comes out of Python code: out of the look, that is. */
static int has_begun(const struct vt_probe_api *api)
{
	void *type, *value, *traceback;

	api->PyErr_Fetch(&type, &value, &traceback);
	api->PyErr_Restore(type, value, traceback);
	return traceback != NULL;
}

static enum vt_probe_answer run(const struct vt_probe_api *api)
{
	void *look = find_look(api), *result;

	/* Not made: no memory, or an interrupt from the keyboard just then. */
	if (!look)
		return end_badly(api);
	result = call(api, look);
	/* What comes out of the look is a signal handler's; before it, the machine's. */
	if (!result)
		return has_begun(api) ? pass_on(api) : end_badly(api);
	api->Py_DecRef(result);
	return VT_PROBE_DONE;
}

static enum vt_probe_answer run_untraced(const struct vt_probe_api *api)
{
	int was_collecting = api->PyGC_Disable ? api->PyGC_Disable() : 0;
	void *thread = api->PyThreadState_Get();
	enum vt_probe_answer answer;

	if (api->PyThreadState_EnterTracing && api->PyThreadState_LeaveTracing)
		api->PyThreadState_EnterTracing(thread);
	answer = run(api);
	if (api->PyThreadState_EnterTracing && api->PyThreadState_LeaveTracing)
		api->PyThreadState_LeaveTracing(thread);
	if (was_collecting)
		api->PyGC_Enable();
	return answer;
}

int vt_probe_program_can_run(const struct vt_probe_api *api)
{
	void *interpreter = api->PyInterpreterState_Get();

	return interpreter == api->PyInterpreterState_Main() &&
	       api->_PyInterpreterState_GetEvalFrameFunc(interpreter) == api->default_eval &&
	       !is_watched(api);
}

enum vt_probe_answer vt_probe_program_run(const struct vt_probe_api *api, uint64_t deadline_ns,
					  enum vt_probe_scope scope)
{
	void *type, *value, *traceback;
	enum vt_probe_answer answer;

	g.api = api;
	g.deadline_ns = deadline_ns;
	g.scope = scope;
	if (!g.storage_size)
		g.storage_size =
			(storage_size_fn)vt_real_symbol_in("libtorch_cpu.so", STORAGE_SIZE);
	api->PyErr_Fetch(&type, &value, &traceback);
	answer = run_untraced(api);
	if (answer != VT_PROBE_RAISED)
		api->PyErr_Restore(type, value, traceback);
	return answer;
}
