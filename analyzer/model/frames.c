/* SPDX-License-Identifier: MIT */
#include "analyzer/model/frames.h"

#include <string.h>

#include "analyzer/model/string_table.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"

static const char *behind_last(const char *text, char separator)
{
	const char *found = strrchr(text, separator);

	return found ? found + 1 : text;
}

static char *copy_text(struct vt_stmt *stmt, int column)
{
	const char *text = vt_stmt_text(stmt, column);

	return vt_printable_copy(text ? text : "");
}

static char *copy_nullable(struct vt_stmt *stmt, int column)
{
	return vt_printable_copy(vt_stmt_text(stmt, column));
}

static void take_code(struct vt_frames *frames, uint32_t id, struct vt_stmt *stmt)
{
	struct vt_code *code = &frames->codes[id];

	code->file = copy_text(stmt, 1);
	code->name = copy_text(stmt, 2);
	code->short_name = behind_last(code->name, '.');
	code->first_line = (uint32_t)vt_stmt_int(stmt, 3);
}

static void take_python(struct vt_frames *frames, uint32_t id, struct vt_stmt *stmt)
{
	struct vt_frame_python *frame = &frames->python[id];

	frame->code = (uint32_t)vt_stmt_int(stmt, 1);
	frame->line = (uint32_t)vt_stmt_int(stmt, 2);
	frame->self_type = (uint32_t)vt_stmt_int(stmt, 3);
	frame->self_address = (uint64_t)vt_stmt_int(stmt, 4);
}

static void take_module(struct vt_frames *frames, uint32_t id, struct vt_stmt *stmt)
{
	const char *path = vt_stmt_text(stmt, 1);

	frames->modules[id] = vt_printable_copy(behind_last(path ? path : "?", '/'));
}

static void take_native(struct vt_frames *frames, uint32_t id, struct vt_stmt *stmt)
{
	struct vt_frame_native *frame = &frames->native[id];

	frame->symbol = copy_nullable(stmt, 1);
	frame->module = (uint32_t)vt_stmt_int(stmt, 2);
	frame->offset = (uint64_t)vt_stmt_int(stmt, frame->symbol ? 3 : 4);
	frame->file = copy_nullable(stmt, 5);
	frame->line = (uint32_t)vt_stmt_int(stmt, 6);
}

static void take_python_node(struct vt_frames *frames, uint32_t id, struct vt_stmt *stmt)
{
	frames->python_tree.nodes[id].parent = (uint32_t)vt_stmt_int(stmt, 1);
	frames->python_tree.nodes[id].frame = (uint32_t)vt_stmt_int(stmt, 2);
}

static void take_native_node(struct vt_frames *frames, uint32_t id, struct vt_stmt *stmt)
{
	frames->native_tree.nodes[id].parent = (uint32_t)vt_stmt_int(stmt, 1);
	frames->native_tree.nodes[id].frame = (uint32_t)vt_stmt_int(stmt, 2);
}

static void take_python_stack(struct vt_frames *frames, uint32_t id, struct vt_stmt *stmt)
{
	frames->python_tree.leaves[id] = (uint32_t)vt_stmt_int(stmt, 1);
}

static void take_native_stack(struct vt_frames *frames, uint32_t id, struct vt_stmt *stmt)
{
	frames->native_tree.leaves[id] = (uint32_t)vt_stmt_int(stmt, 1);
}

/*
 * One row per table: where its array and its length live in struct vt_frames, and how a row is
 * read.
 */
struct table {
	const char *name;
	const char *sql;
	size_t array;
	size_t length;
	size_t item_size;
	void (*take)(struct vt_frames *, uint32_t, struct vt_stmt *);
};

#define TABLE(table, member, count, sql, take)                                                     \
	{                                                                                          \
		table, sql, offsetof(struct vt_frames, member), offsetof(struct vt_frames, count), \
			sizeof(*((struct vt_frames *)0)->member), take                             \
	}

static const struct table tables[] = {
	TABLE("python_code", codes, nr_codes,
	      "SELECT id, file, name, first_line FROM python_code WHERE id >= 0", take_code),
	TABLE("python_frame", python, nr_python,
	      "SELECT id, code, line, self_type, self_address FROM python_frame WHERE id >= 0",
	      take_python),
	TABLE("module", modules, nr_modules, "SELECT id, path FROM module WHERE id >= 0",
	      take_module),
	TABLE("native_frame", native, nr_native,
	      "SELECT f.id, f.symbol, f.module, f.symbol_offset, f.address - coalesce(m.bias, 0),"
	      " f.file, f.line FROM native_frame f LEFT JOIN module m ON m.id = f.module"
	      " WHERE f.id >= 0",
	      take_native),
	TABLE("python_node", python_tree.nodes, python_tree.nr_nodes,
	      "SELECT id, parent, frame FROM python_node WHERE id >= 0", take_python_node),
	TABLE("native_node", native_tree.nodes, native_tree.nr_nodes,
	      "SELECT id, parent, frame FROM native_node WHERE id >= 0", take_native_node),
	TABLE("python_stack", python_tree.leaves, python_tree.nr_stacks,
	      "SELECT id, leaf FROM python_stack WHERE id >= 0", take_python_stack),
	TABLE("native_stack", native_tree.leaves, native_tree.nr_stacks,
	      "SELECT id, leaf FROM native_stack WHERE id >= 0", take_native_stack),
};

/* "Net.forward" is; "main", "main.<locals>.step" and "<lambda>" are not. */
static int is_method_name(const struct vt_code *code)
{
	static const char nested[] = "<locals>.";
	size_t owner = (size_t)(code->short_name - code->name);
	size_t len = sizeof(nested) - 1;

	return owner && (owner < len || strncmp(code->short_name - len, nested, len) != 0);
}

/*
 * The recorder looks at the first argument alone: train(model, batch) passes for a method of the
 * model.  Where the interpreter qualifies names (3.11 and later) they suffice; elsewhere it stays.
 */
static void drop_arguments_of_functions(struct vt_frames *frames)
{
	int is_qualified = 0;

	for (uint32_t i = 0; i < frames->nr_codes && !is_qualified; i++)
		is_qualified = frames->codes[i].name && is_method_name(&frames->codes[i]);
	for (uint32_t i = 0; is_qualified && i < frames->nr_python; i++)
		if (!is_method_name(vt_frames_code(frames, i)))
			frames->python[i].self_type = 0;
}

/* Gives every row to the table's function. */
static int load_rows(struct vt_frames *frames, struct vt_db *db, const struct table *table,
		     uint32_t length, struct vt_diag *diag)
{
	struct vt_stmt *stmt = vt_db_prepare(db, table->sql);
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		int64_t id = vt_stmt_int(stmt, 0);

		if (vt_string_table_check(db, table->name, id, length, diag)) {
			rc = -1;
			break;
		}
		table->take(frames, (uint32_t)id, stmt);
	}
	vt_stmt_free(stmt);
	if (rc < 0)
		vt_db_diag(db, diag);
	return rc;
}

int vt_frames_load(struct vt_frames *frames, struct vt_db *db, struct vt_diag *diag)
{
	memset(frames, 0, sizeof(*frames));
	for (size_t i = 0; i < VT_ARRAY_SIZE(tables); i++) {
		const struct table *t = &tables[i];
		uint32_t length;

		if (vt_string_table_length(db, t->name, &length, diag))
			return -1;
		*(uint32_t *)((char *)frames + t->length) = length;
		*(void **)((char *)frames + t->array) = vt_xcalloc(length, t->item_size);
		if (load_rows(frames, db, t, length, diag))
			return -1;
	}
	drop_arguments_of_functions(frames);
	return 0;
}

void vt_frames_release(struct vt_frames *frames)
{
	for (uint32_t i = 0; frames->codes && i < frames->nr_codes; i++) {
		free(frames->codes[i].file);
		free(frames->codes[i].name);
	}
	for (uint32_t i = 0; frames->native && i < frames->nr_native; i++) {
		free(frames->native[i].symbol);
		free(frames->native[i].file);
	}
	for (uint32_t i = 0; frames->modules && i < frames->nr_modules; i++)
		free(frames->modules[i]);
	for (size_t i = 0; i < VT_ARRAY_SIZE(tables); i++)
		free(*(void **)((char *)frames + tables[i].array));
	memset(frames, 0, sizeof(*frames));
}

/* A damaged tree may have loops; VT_FRAMES_MAX ends them. */
static unsigned walk(const struct vt_frame_tree *tree, uint32_t nr_frames, uint32_t stack,
		     uint32_t *out)
{
	uint32_t node = stack < tree->nr_stacks ? tree->leaves[stack] : 0;
	unsigned nr = 0;

	while (node && node < tree->nr_nodes && nr < VT_FRAMES_MAX) {
		if (tree->nodes[node].frame < nr_frames)
			out[nr++] = tree->nodes[node].frame;
		else
			break;
		node = tree->nodes[node].parent;
	}
	return nr;
}

unsigned vt_frames_python(const struct vt_frames *frames, uint32_t stack, uint32_t *out)
{
	return walk(&frames->python_tree, frames->nr_python, stack, out);
}

unsigned vt_frames_native(const struct vt_frames *frames, uint32_t stack, uint32_t *out)
{
	return walk(&frames->native_tree, frames->nr_native, stack, out);
}

const struct vt_code *vt_frames_code(const struct vt_frames *frames, uint32_t python_frame)
{
	static const struct vt_code missing = { (char *)"?", (char *)"?", "?", 0 };
	uint32_t code = frames->python[python_frame].code;

	if (code >= frames->nr_codes || !frames->codes[code].file)
		return &missing;
	return &frames->codes[code];
}

const char *vt_frames_library(const struct vt_frames *frames, uint32_t native_frame)
{
	uint32_t module = frames->native[native_frame].module;

	if (module >= frames->nr_modules || !frames->modules[module])
		return "?";
	return frames->modules[module];
}
