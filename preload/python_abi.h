/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PYTHON_ABI_H
#define VT_PRELOAD_PYTHON_ABI_H

/*
 * Where things are inside the CPython (3.9 to 3.14, 64-bit) that runs in this process: byte offsets
 * into its private structures, as the interpreter itself publishes them (3.13 and later) or from a
 * table per version (before), and the few functions that may be called without the GIL.
 *
 * An interpreter that is not known exactly is refused: no Python stacks are better than invented
 * ones.
 */

#include <stdint.h>

/* One row per offset that is read. */
#define VT_PYTHON_OFFSETS(X)                                                                      \
	X(thread_cframe)	/* 3.11 and 3.12: PyThreadState.cframe, which has the frame */     \
	X(thread_frame)		/* innermost frame, in the thread state or in the cframe */       \
	X(frame_code)                                                                             \
	X(frame_previous)                                                                         \
	X(frame_instruction)	/* f_lasti (3.9, 3.10) or a pointer into the bytecode */          \
	X(frame_owner)		/* 3.11 and later */                                              \
	X(frame_locals)                                                                           \
	X(frame_copy)		/* free-threaded 3.14: which copy of the bytecode runs; else 0 */ \
	X(code_arguments)	/* number of positional arguments */                              \
	X(code_first_line)                                                                        \
	X(code_file)                                                                              \
	X(code_name)                                                                              \
	X(code_qualname)	/* 3.11 and later; before, the same as code_name */               \
	X(code_lines)		/* bytes object: the line table */                                \
	X(code_bytecode)	/* 3.11 and later */                                              \
	X(code_copies)		/* free-threaded 3.14; else 0 */                                  \
	X(code_locals)		/* 3.9 and 3.10: number of locals before the cells */             \
	X(code_cell_arguments)	/* 3.9 and 3.10: which argument lives in which cell */            \
	X(code_cells)		/* 3.9 and 3.10: tuple, one item per cell */                      \
	X(object_type)                                                                            \
	X(type_flags)                                                                             \
	X(type_name)                                                                              \
	X(type_free)		/* the function that frees an object (tp_dealloc) */              \
	X(type_mro)                                                                               \
	X(tuple_length)                                                                           \
	X(tuple_items)                                                                            \
	X(cell_content)                                                                           \
	X(bytes_length)                                                                           \
	X(bytes_data)                                                                             \
	X(string_length)                                                                          \
	X(string_hash)		/* of its characters; -1: nobody has asked for it yet */          \
	X(string_state)                                                                           \
	X(string_ascii)		/* characters of a compact ASCII string */                        \
	X(string_compact)	/* characters of any other compact string */

#define VT_PYTHON_OFFSET_FIELD(name) uint16_t name;
struct vt_python_abi {
	uint8_t minor;			/* 3.minor */
	uint8_t is_free_threaded;
	VT_PYTHON_OFFSETS(VT_PYTHON_OFFSET_FIELD)
};
#undef VT_PYTHON_OFFSET_FIELD

/*
 * Frames of these owners and above hold no Python code: entry frames of the interpreter's C loop.
 */
#define VT_PYTHON_FIRST_CODELESS_OWNER 3

/*
 * The low bits of a reference in a frame: a tag from 3.14 on; always 0 before, as objects are
 * aligned.
 */
#define VT_PYTHON_REFERENCE_TAG 3

/* A string's hash that was not computed. */
#define VT_PYTHON_NO_HASH UINT64_MAX

struct vt_python {
	struct vt_python_abi abi;
	char version[16];		/* "3.11.7" */
	const void *code_type;		/* PyCode_Type */
	const void *cell_type;		/* PyCell_Type */
	void *(*thread_state)(void);	/* PyGILState_GetThisThreadState: valid without the GIL */
	int (*is_finalizing)(void);
};

enum vt_python_answer {
	VT_PYTHON_ABSENT = 0,	/* no interpreter (yet) */
	VT_PYTHON_READY = 1,
	VT_PYTHON_REFUSED = -1,	/* one that is not known here; version is filled in */
};

typedef void *(*vt_python_find_fn)(const char *symbol);

/*
 * Find the interpreter through `find` (an address or NULL for a symbol name) and fill *python.
 * Takes no lock and no memory; calls only Py_GetVersion, which works before and after
 * initialisation.
 */
enum vt_python_answer vt_python_abi_find(struct vt_python *python, vt_python_find_fn find);

/*
 * The layout that an interpreter of 3.`minor` has.  `runtime` is the address of _PyRuntime, read
 * from 3.13 on. Returns 0, or -1 where it is not known.
 */
int vt_python_abi_layout(struct vt_python_abi *abi, unsigned minor, const void *runtime);

#endif
