/* SPDX-License-Identifier: MIT */
#include "analyzer/import/resolve.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/import/import_stacks.h"
#include "analyzer/import/run_keys.h"
#include "analyzer/import/symbols.h"
#include "analyzer/base/util.h"

struct module {
	int64_t id;
	uint64_t bias;
	char *path;
	char *build_id;
};

struct frame {
	int64_t id;
	int64_t module; /* 0 = none */
	uint64_t address;
	char *symbol; /* ours; NULL = unknown, as is `file` */
	uint64_t symbol_offset;
	char *file;
	int line;
};

struct work {
	struct vt_db *db;
	struct vt_stack_modules ranges;
	VT_VECTOR(struct module) modules; /* ascending by id */
	VT_VECTOR(struct frame) frames;
	int64_t last_frame;
	struct vt_stmt *update;
};

static int load_modules(struct work *w)
{
	struct vt_stmt *stmt = vt_db_prepare(w->db,
					     "SELECT id, bias, path, build_id"
					     " FROM module ORDER BY id");
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		struct module module = {
			.id = vt_stmt_int(stmt, 0),
			.bias = (uint64_t)vt_stmt_int(stmt, 1),
			.path = vt_xstrdup(vt_stmt_text(stmt, 2)),
			.build_id = vt_xstrdup(vt_stmt_text(stmt, 3)),
		};

		vt_vector_push(&w->modules, module);
	}
	vt_stmt_free(stmt);
	return rc;
}

static int load_frames(struct work *w)
{
	struct vt_stmt *stmt = vt_db_prepare(w->db,
					     "SELECT id, address, ifnull(module, 0)"
					     " FROM native_frame WHERE id > ? ORDER BY id");
	int rc;

	vt_stmt_bind_int(stmt, 1, w->last_frame);
	while ((rc = vt_stmt_step(stmt)) == 1) {
		struct frame frame = {
			.id = vt_stmt_int(stmt, 0),
			.module = vt_stmt_int(stmt, 2),
			.address = (uint64_t)vt_stmt_int(stmt, 1),
		};

		w->last_frame = frame.id;
		/* Recorded before its module. */
		if (!frame.module)
			frame.module = vt_stack_modules_find(&w->ranges, frame.address);
		vt_vector_push(&w->frames, frame);
	}
	vt_stmt_free(stmt);
	return rc;
}

static int by_module(const void *x, const void *y)
{
	const struct frame *a = x, *b = y;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static const struct module *module_at(const struct work *w, int64_t id)
{
	for (size_t i = 0; i < w->modules.len; i++)
		if (w->modules.items[i].id == id)
			return &w->modules.items[i];
	return NULL;
}

static int write_frame(struct work *w, const struct frame *frame)
{
	vt_stmt_bind_int(w->update, 1, frame->id);
	vt_stmt_bind_int(w->update, 2, frame->module);
	vt_stmt_bind_text(w->update, 3, frame->symbol);
	vt_stmt_bind_null(w->update, 4);
	if (frame->symbol)
		vt_stmt_bind_int(w->update, 4, (int64_t)frame->symbol_offset);
	vt_stmt_bind_text(w->update, 5, frame->file);
	vt_stmt_bind_null(w->update, 6);
	if (frame->file)
		vt_stmt_bind_int(w->update, 6, frame->line);
	return vt_stmt_step(w->update);
}

static char *copy_of(const char *text)
{
	return text ? vt_xstrdup(text) : NULL;
}

/* What the module's file says about [from, to); nothing where it cannot be read. */
static void look_up(struct work *w, const struct module *module, size_t from, size_t to)
{
	uint64_t *addresses = vt_xcalloc(to - from, sizeof(*addresses));
	struct vt_symbols *symbols;

	for (size_t i = from; i < to; i++)
		addresses[i - from] = w->frames.items[i].address - module->bias;
	symbols = vt_symbols_open(module->path, module->build_id, addresses, to - from);
	for (size_t i = from; i < to && symbols; i++) {
		struct frame *frame = &w->frames.items[i];
		struct vt_symbol symbol;

		vt_symbols_find(symbols, addresses[i - from], &symbol);
		frame->symbol = copy_of(symbol.name);
		frame->symbol_offset = symbol.offset;
		frame->file = copy_of(symbol.file);
		frame->line = symbol.line;
	}
	vt_symbols_close(symbols);
	free(addresses);
}

static void forget_symbols(struct work *w, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		free(w->frames.items[i].symbol);
		free(w->frames.items[i].file);
	}
}

/*
 * The frames [from, to) all lie in one module.  Everything is looked up before the transaction: it
 * may take minutes, and the collector waits for the lock.
 */
static int resolve_module(struct work *w, size_t from, size_t to)
{
	const struct module *module = module_at(w, w->frames.items[from].module);
	int rc;

	if (!module)
		return 0;
	look_up(w, module, from, to);
	rc = vt_db_begin(w->db);
	for (size_t i = from; i < to && !rc; i++)
		rc = write_frame(w, &w->frames.items[i]);
	forget_symbols(w, from, to);
	return rc || vt_db_commit(w->db) ? -1 : 0;
}

static int resolve_all(struct work *w)
{
	size_t from = 0;

	vt_vector_sort(&w->frames, by_module);
	while (from < w->frames.len) {
		size_t to = from;

		while (to < w->frames.len &&
		       w->frames.items[to].module == w->frames.items[from].module)
			to++;
		if (resolve_module(w, from, to))
			return -1;
		from = to;
	}
	return 0;
}

int vt_resolve_frames(struct vt_db *db, struct vt_diag *diag)
{
	struct work w = { .db = db };
	int rc;

	w.last_frame = vt_db_run_get_int(db, vt_run_key(VT_RUN_RESOLVED_FRAMES), 0);
	w.update = vt_db_prepare(db,
				 "UPDATE native_frame SET module=?2, symbol=?3, symbol_offset=?4,"
				 " file=?5, line=?6 WHERE id=?1");
	rc = vt_stack_modules_load(&w.ranges, db) || load_modules(&w) || load_frames(&w) ||
	     resolve_all(&w);
	if (!rc && w.frames.len)
		rc = vt_db_run_set_int(db, vt_run_key(VT_RUN_RESOLVED_FRAMES), w.last_frame);
	if (rc) {
		vt_db_diag(db, diag);
		vt_db_rollback(db);
	}
	vt_stmt_free(w.update);
	for (size_t i = 0; i < w.modules.len; i++) {
		free(w.modules.items[i].path);
		free(w.modules.items[i].build_id);
	}
	vt_vector_release(&w.ranges);
	vt_vector_release(&w.modules);
	vt_vector_release(&w.frames);
	return rc ? -1 : 0;
}
