/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_IMPORT_STACKS_H
#define VT_ANALYZER_IMPORT_STACKS_H

/*
 * Modules, code objects and stacks to rows: frames and the tree nodes above them are stored once
 * each.
 *
 *  S1  A stack may come before the code objects and modules that it names.  A Python line that
 *      cannot be decoded yet is stored as -1 - instruction_bytes and decoded when the code object
 *      comes; a native frame's module is then found when symbols are resolved.
 *  S2  Everything needed to go on is in the database (resume), and the rows do not depend on where
 *      an import was interrupted.
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "analyzer/base/map.h"
#include "analyzer/base/util.h"
#include "common/journal_format.h"

struct vt_stack_module {
	uint64_t start, end;
	uint32_t id;	/* row of the table module; 0: what was there is unloaded */
};

VT_VECTOR_DECLARE(vt_stack_modules, struct vt_stack_module);

struct vt_stack_code {
	uint32_t first_line;
	uint32_t python_minor;
	uint32_t table_len;
	unsigned char *table;
};

/* A row of python_frame that waits for its code object. */
struct vt_stack_undecoded {
	uint64_t id;
	struct vt_python_frame frame;
};

/* Rows of one table, interned: key -> id. */
struct vt_stack_rows {
	struct vt_map ids;
	uint64_t last_id;
	struct vt_stmt *insert;
};

struct vt_import_stacks {
	struct vt_db *db; /* borrowed */
	struct vt_stack_modules modules;
	VT_VECTOR(struct vt_stack_code) codes;
	struct vt_map code_places; /* code id -> place in `codes` */
	struct vt_stack_rows native_frames, native_nodes, python_frames, python_nodes;
	/* Spare the search for the module, and the decoding. */
	struct vt_map seen_native_frames; /* address -> frame id */
	struct vt_map seen_python_frames; /* code, instruction, self -> frame id */
	VT_VECTOR(struct vt_stack_undecoded) undecoded;
	struct vt_stmt *module, *code, *line_table, *native_stack, *python_stack, *python_line;
};

void vt_import_stacks_init(struct vt_import_stacks *s, struct vt_db *db);
void vt_import_stacks_release(struct vt_import_stacks *s);
/* Reads the state back from the rows of an earlier import. */
int vt_import_stacks_resume(struct vt_import_stacks *s);

/* One record each; 0 or -1 with vt_db_error(). */
int vt_import_stacks_module(struct vt_import_stacks *s, const struct vt_module_record *record);
int vt_import_stacks_code(struct vt_import_stacks *s, const struct vt_python_code_record *record);
int vt_import_stacks_native(struct vt_import_stacks *s,
			    const struct vt_native_stack_record *record);
int vt_import_stacks_python(struct vt_import_stacks *s,
			    const struct vt_python_stack_record *record);

/* The modules of a database, in their order; 0, or -1 (vt_db_error).  vt_vector_release. */
int vt_stack_modules_load(struct vt_stack_modules *modules, struct vt_db *db);
/*
 * The module that contains the call before a return address, which matters at the very end of a
 * module; 0 if none is known.  Later ones win: the address was used again.
 */
uint32_t vt_stack_modules_find(const struct vt_stack_modules *modules, uint64_t return_address);

#endif
