/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/import/import.h"
#include "analyzer/base/util.h"

static struct {
	char folder[256];
} g;

int unit_enter(void **state)
{
	const char *base = getenv("TMPDIR");

	(void)state;
	snprintf(g.folder, sizeof(g.folder), "%s/vtrace-unit-XXXXXX",
		 base && *base ? base : "/tmp");
	return mkdtemp(g.folder) && !chdir(g.folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int unit_leave(void **state)
{
	(void)state;
	return chdir("/") || nftw(g.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct vt_db *open_db(const char *path)
{
	struct vt_diag diag = { 0 };
	struct vt_db *db = NULL;
	enum vt_db_mode mode = access(path, F_OK) ? VT_DB_CREATE : VT_DB_WRITE;

	if (vt_db_open(&db, path, mode, &diag))
		fail_msg("%s", diag.text);
	/* The disk's speed is not what is tested. */
	vt_db_exec(db, "PRAGMA synchronous=OFF");
	return db;
}

static struct vt_db *import(const struct vt_journal_header *header, const void *slots,
			    uint64_t nr_slots, uint64_t max_records, const char *path,
			    int is_finishing)
{
	struct vt_db *db = open_db(path);
	struct vt_diag diag = { 0 };
	struct vt_import *im = NULL;
	int64_t taken = 0;

	if (!vt_import_open(&im, db, header, &diag))
		while ((taken = vt_import_batch(im, header, slots, nr_slots, 1, max_records,
						&diag)) > 0)
			;
	if (taken == 0 && im && is_finishing)
		vt_import_finish(im, header, 0, &diag);
	vt_import_close(im);
	if (diag.exit_code)
		fail_msg("%s", diag.text);
	return db;
}

struct vt_db *unit_import_slots(const struct vt_journal_header *header, const void *slots,
				uint64_t nr_slots, uint64_t max_records, const char *path)
{
	return import(header, slots, nr_slots, max_records, path, 0);
}

struct vt_db *unit_import(struct builder *b, const char *path)
{
	return import(builder_header(b), builder_slots(b), b->nr_slots, UINT64_MAX, path, 1);
}

static void dump_table(struct vt_db *db, const char *table, const char *columns,
		       struct vt_buffer *text)
{
	char *sql = vt_xasprintf("SELECT %s FROM \"%s\" ORDER BY 1", columns, table);
	struct vt_stmt *stmt = vt_db_prepare(db, sql);

	vt_buffer_printf(text, "[%s]\n", table);
	while (vt_stmt_step(stmt) == 1)
		vt_buffer_printf(text, "%s\n", vt_stmt_text(stmt, 0));
	vt_stmt_free(stmt);
	free(sql);
}

char *unit_dump(struct vt_db *db)
{
	/* Every column of a table, quoted, in one value. */
	struct vt_stmt *tables = vt_db_prepare(
		db,
		"SELECT m.name, group_concat('quote(\"' || c.name || '\")', '||'',''||')"
		" FROM sqlite_master m JOIN pragma_table_info(m.name) c"
		/* Which number a caller has depends on the batches; the view has it by value. */
		" WHERE m.type = 'table' AND m.name NOT GLOB 'allocat*_[bcmfr]*' OR"
		" m.name = 'allocation' GROUP BY m.name ORDER BY m.name");
	struct vt_buffer text;

	vt_buffer_init(&text);
	while (vt_stmt_step(tables) == 1)
		dump_table(db, vt_stmt_text(tables, 0), vt_stmt_text(tables, 1), &text);
	vt_stmt_free(tables);
	return vt_buffer_detach(&text);
}

int64_t unit_int(struct vt_db *db, const char *sql)
{
	return vt_db_query_int(db, sql, INT64_MIN);
}

int64_t unit_freed_event(struct vt_db *db, int64_t id)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "SELECT freed_event FROM allocation WHERE id = %lld",
		 (long long)id);
	return unit_int(db, sql);
}

void unit_assert_text(struct vt_db *db, const char *sql, const char *expected)
{
	struct vt_stmt *stmt = vt_db_prepare(db, sql);

	assert_int_equal(vt_stmt_step(stmt), 1);
	assert_string_equal(vt_stmt_text(stmt, 0), expected);
	vt_stmt_free(stmt);
}
