/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PROBE_API_H
#define VT_PRELOAD_PROBE_API_H

/*
 * The functions of CPython that the probe calls, found by name in the interpreter of this process:
 * we link to none.  Their signatures are those of the stable ABI and the same from 3.9 to 3.14.
 *
 * All but vt_probe_api_find and Py_AddPendingCall need the GIL.
 */

#include <stdint.h>
#include <sys/types.h>

#include "preload/python_abi.h"

/* PyMethodDef: what a function object refers to; must live as long as the interpreter. */
struct vt_probe_method {
	const char *name;
	void *(*function)(void *self, void *const *arguments, ssize_t nr);
	int flags;
	const char *doc;
};

/* METH_FASTCALL: positional arguments as an array. */
#define VT_PROBE_FAST_CALL 0x80

/* compile()'s mode "exec". */
#define VT_PROBE_FILE_INPUT 257

/* X(result, name, arguments) */
#define VT_PROBE_API(X)                                                                            \
	X(int, Py_AddPendingCall, (int (*function)(void *), void *context))                        \
	X(void *, PyInterpreterState_Get, (void))                                                  \
	X(void *, PyInterpreterState_Main, (void))                                                 \
	X(void *, PyInterpreterState_GetDict, (void *interpreter))                                 \
	X(void *, PyThreadState_Get, (void))                                                       \
	X(unsigned long, PyThread_get_thread_ident, (void))                                        \
	X(void *, PyEval_GetFrame, (void))                                                         \
	X(void *, PyEval_EvalCode, (void *code, void *globals, void *locals))                      \
	X(void *, Py_CompileString, (const char *text, const char *file, int start))               \
	X(void *, PyImport_GetModuleDict, (void))                                                  \
	X(void *, PySys_GetObject, (const char *name))                                             \
	X(void *, PyDict_New, (void))                                                              \
	X(void *, PyDict_GetItemString, (void *dict, const char *key))                             \
	X(int, PyDict_SetItemString, (void *dict, const char *key, void *value))                   \
	X(void *, PyTuple_New, (ssize_t len))                                                      \
	X(int, PyTuple_SetItem, (void *tuple, ssize_t at, void *value))                            \
	X(void *, PyLong_FromUnsignedLongLong, (unsigned long long value))                         \
	X(unsigned long long, PyLong_AsUnsignedLongLong, (void *value))                            \
	X(void *, PyBool_FromLong, (long value))                                                   \
	X(const char *, PyUnicode_AsUTF8AndSize, (void *text, ssize_t *len))                       \
	X(void *, PyUnicode_FromString, (const char *text))                                        \
	X(void *, PyObject_CallObject, (void *callable, void *arguments))                          \
	X(void *, PyObject_GenericGetDict, (void *object, void *context))                          \
	X(void *, PyCFunction_NewEx, (struct vt_probe_method *method, void *self, void *module))   \
	X(void *, PyErr_Occurred, (void))                                                          \
	X(void, PyErr_Clear, (void))                                                               \
	X(int, PyErr_ExceptionMatches, (void *type))                                               \
	X(void, PyErr_Fetch, (void **type, void **value, void **traceback))                        \
	X(void, PyErr_Restore, (void *type, void *value, void *traceback))                         \
	X(void, PyErr_NormalizeException, (void **type, void **value, void **traceback))           \
	X(int, PyException_SetTraceback, (void *value, void *traceback))                           \
	X(void, Py_IncRef, (void *object))                                                         \
	X(void, Py_DecRef, (void *object))                                                         \
	X(void *, _PyInterpreterState_GetEvalFrameFunc, (void *interpreter))

/* Found where they exist: garbage collection since 3.10, tracing since 3.11. */
#define VT_PROBE_API_LATER(X)                                                                      \
	X(int, PyGC_Disable, (void))                                                               \
	X(int, PyGC_Enable, (void))                                                                \
	X(void, PyThreadState_EnterTracing, (void *thread))                                        \
	X(void, PyThreadState_LeaveTracing, (void *thread))

struct vt_probe_api {
#define VT_PROBE_API_FIELD(result, name, arguments) result(*name) arguments;
	VT_PROBE_API(VT_PROBE_API_FIELD)
	VT_PROBE_API_LATER(VT_PROBE_API_FIELD)
#undef VT_PROBE_API_FIELD
	void *none;		/* the object None */
	void **exception;	/* the variable that holds the class Exception */
	void *default_eval;	/* what evaluates frames unless somebody put a function in front */
	struct vt_python_abi abi;
};

/*
 * All of them or NULL: no interpreter (yet), one that is unknown, shutting down or free-threaded,
 * or one that lacks a function.  Looks once per recording.  Context: hook, journal open.
 */
const struct vt_probe_api *vt_probe_api_find(void);

#endif
