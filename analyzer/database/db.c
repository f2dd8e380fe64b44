/* SPDX-License-Identifier: MIT */
/*
 * db.c - the file: how it begins, is opened, written in transactions and ends.
 *
 *  D1  A database appears under its name complete with its schema, or not at all: it is made under
 *      a second name and renamed without replacing.
 *  D2  A writer uses the write-ahead log: readers see committed batches while it works, and SIGKILL
 *      at any instruction leaves the last committed batch.  Its index is a file that is mapped
 *      shared; where files cannot be, the rollback journal keeps the second promise and readers
 *      wait for the end of a batch.
 *  D3  The file is looked at by nothing but SQLite while a connection of this process has it:
 *      closing any descriptor of a file drops all locks that the process has on it, and the next
 *      writer to leave would delete a write-ahead log that is in use.
 */
#include "analyzer/database/db.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/database/db_check.h"
#include "analyzer/database/db_connection.h"
#include "analyzer/database/db_defence.h"
#include "analyzer/database/migrations.h"
#include "analyzer/base/embedded.h"
#include "analyzer/base/new_file.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"
#include "common/kinds.h"

/* How long a statement waits for another process's transaction. */
#define BUSY_TIMEOUT_MS 10000

/* SQLite's own. */
#define PAGE_BYTES 4096

const char *vt_db_path(const struct vt_db *db)
{
	return db->path;
}

const char *vt_db_shown_path(const struct vt_db *db)
{
	return db->shown_path;
}

const char *vt_db_error(const struct vt_db *db)
{
	return db->error[0] ? db->error : "unknown error";
}

int vt_db_is_busy(const struct vt_db *db)
{
	return db->is_busy;
}

void vt_db_diag(const struct vt_db *db, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", db->path, vt_db_error(db));
	if (diag)
		diag->is_busy = db->is_busy;
}

static int fill_words(struct vt_db *db, const char *table, int id, const char *name)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO %s VALUES (%d, '%s')", table,
		 id, name);
	return vt_db_exec(db, sql);
}

/* What the views of schema.sql distinguish a framework's report from a driver's call by. */
#define VT_CUDA_API(id, name, version, kind, op)                                                   \
	_Static_assert(VT_KIND_##kind != VT_KIND_BLOCK, #name);
#define VT_FRAMEWORK_API(id, name, kind, op) _Static_assert(VT_KIND_##kind == VT_KIND_BLOCK, #name);
#include "common/cuda_api.def"
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API

/* Each number once. */
enum {
#define VT_CUDA_API(id, name, version, kind, op) FUNCTION_##id,
#define VT_FRAMEWORK_API(id, name, kind, op)     FUNCTION_##id,
#include "common/cuda_api.def"
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API
};

/*
 * The words behind the numbers, from the same lists that the recorder is compiled with; a file that
 * has some gets the rest.
 */
static int fill_all_words(struct vt_db *db)
{
	int rc = 0;

#define WORD(name, number, text, ...)            rc |= fill_words(db, table, number, text);
#define VT_CUDA_API(id, name, version, kind, op) rc |= fill_words(db, "function", id, #name);
#define VT_FRAMEWORK_API(id, name, kind, op)     rc |= fill_words(db, "function", id, #name);
	const char *table = "operation";

	VT_OPS(WORD)
	table = "memory_kind";
	VT_KINDS(WORD)
	table = "mark_kind";
	VT_MARK_KINDS(WORD)
	table = "mark_source";
	VT_MARK_SOURCES(WORD)
	table = "tensor_role";
	VT_ROLES(WORD)
#include "common/cuda_api.def"
#undef WORD
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API
	return rc;
}

static int write_schema(struct vt_db *db)
{
	char pragmas[160];

	snprintf(pragmas, sizeof(pragmas), "PRAGMA application_id=%d; PRAGMA user_version=%d",
		 VT_DB_APPLICATION_ID, VT_DB_SCHEMA_VERSION);
	/* Nobody sees the file before it is renamed: no journal is needed to make it. */
	if (vt_db_exec(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN"))
		return -1;
	if (vt_db_exec(db, pragmas) || vt_db_exec(db, vt_embedded_schema) || fill_all_words(db))
		return -1;
	return vt_db_commit(db);
}

static void set_path(struct vt_db *db, const char *path)
{
	free(db->path);
	free(db->shown_path);
	db->path = vt_xstrdup(path);
	db->shown_path = vt_printable_copy(path);
}

static int open_raw(struct vt_db **out, const char *path, int flags, struct vt_diag *diag)
{
	struct vt_db *db = vt_xcalloc(1, sizeof(*db));

	/*
	 * Counting its own memory takes a lock per allocation; refused, which is fine, after the
	 * first use.
	 */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	set_path(db, path);
	pthread_mutex_init(&db->run_lock, NULL);
	if (sqlite3_open_v2(path, &db->raw, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
		int error = db->raw ? sqlite3_system_errno(db->raw) : ENOMEM;

		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path,
			    error ? strerror(error) : "cannot be opened");
		vt_db_close(db);
		return -1;
	}
	sqlite3_busy_timeout(db->raw, BUSY_TIMEOUT_MS);
	sqlite3_extended_result_codes(db->raw, 1);
	*out = db;
	return 0;
}

/* Gives the finished file its name; the name must be free. */
static int publish(const char *from, const char *to, struct vt_diag *diag)
{
	int rc = vt_util_rename(from, to);

	if (rc)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", to, strerror(errno));
	return rc;
}

/*
 * Logs of a database that was deleted without them (its writer was killed before): SQLite would
 * take them for the new one's.
 */
static void remove_old_logs(const char *path)
{
	static const char *const suffixes[] = { "-wal", "-shm", "-journal" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(suffixes) && access(path, F_OK); i++) {
		char *log = vt_xasprintf("%s%s", path, suffixes[i]);

		unlink(log);
		free(log);
	}
}

/* An empty file beside `path` (new_file.h); free().  NULL with `diag` filled. */
static char *make_draft(const char *path, struct vt_diag *diag)
{
	char *draft = vt_new_file_part(path);
	int fd = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0) {
		close(fd);
		return draft;
	}
	free(draft);
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
	return NULL;
}

static int create(const char *path, struct vt_diag *diag)
{
	char *draft = make_draft(path, diag);
	struct vt_db *db = NULL;
	int rc = -1;

	if (!draft)
		return -1;
	if (open_raw(&db, draft, SQLITE_OPEN_READWRITE, diag))
		goto out;
	if (write_schema(db)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, vt_db_error(db));
		goto out;
	}
	vt_db_close(db);
	db = NULL;
	remove_old_logs(path);
	rc = publish(draft, path, diag);
out:
	vt_db_close(db);
	if (rc)
		unlink(draft);
	free(draft);
	return rc;
}

/*
 * NORMAL: in this mode nothing is synchronised per transaction and SIGKILL loses nothing; a power
 * cut loses at most the last transactions.  16 MiB of log between checkpoints; 64 MiB of cache.
 */
static const char writer_settings[] =
	"PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=4096;"
	"PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY";

static int can_be_mapped(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *map = MAP_FAILED;

	if (fd >= 0) {
		map = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (map == MAP_FAILED)
		return 0;
	munmap(map, 1);
	return 1;
}

static int set_up_writer(struct vt_db *db, int has_log)
{
	/* A database of this mode could not even be read there: it is never tried. */
	if (has_log && vt_db_exec(db, "PRAGMA journal_mode=WAL"))
		return -1;
	return vt_db_exec(db, writer_settings);
}

/* By the words that the file will be checked for. */
static int make_allocation_view(struct vt_db *db)
{
	size_t len;
	const char *sql = vt_db_defence_view(vt_embedded_schema, "allocation", &len);
	char *copy = vt_xasprintf("%.*s", (int)len, sql);
	int rc = vt_db_exec(db, copy);

	free(copy);
	return rc;
}

static int complete(struct vt_db *db, enum vt_db_mode mode)
{
	int version = (int)vt_db_query_int(db, "PRAGMA user_version", -1);
	const char *sql = vt_migrations_sql(version, mode == VT_DB_READ);

	/* It could not be read; a damaged file was refused before. */
	if (version < 0)
		return -1;
	if (!sql)
		return 0;
	if (mode == VT_DB_READ)
		return vt_db_exec(db, sql);
	if (vt_db_begin(db))
		return -1;
	if (!vt_db_exec(db, sql) && !make_allocation_view(db) && !fill_all_words(db) &&
	    !vt_db_commit(db))
		return 0;
	vt_db_rollback(db);
	return -1;
}

/* 0, or -1: `diag` is filled, or the connection has the error. */
static int refuse_what_would_run(struct vt_db *db, struct vt_diag *diag)
{
	char wrong[128];
	int rc = vt_db_defence_check(db->raw, vt_embedded_schema, wrong, sizeof(wrong));

	if (rc > 0)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: not a vtrace database: %s", db->path,
			    wrong);
	return rc < 0 ? vt_db_fail(db) : -rc;
}

/* The file is known to be one of ours (D3). */
static int connect(struct vt_db **out, const char *path, enum vt_db_mode mode, int has_log,
		   struct vt_diag *diag)
{
	int flags = mode == VT_DB_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	struct vt_db *db = NULL;

	if (open_raw(&db, path, flags, diag))
		return -1;
	vt_db_defence_start(&db->defence, db->raw, path, mode == VT_DB_READ);
	/* The first query reads the schema: a damaged file shows here. */
	if (refuse_what_would_run(db, diag) || (mode != VT_DB_READ && set_up_writer(db, has_log)) ||
	    vt_db_exec(db, "SELECT count(1) FROM run; SELECT id FROM allocation LIMIT 1") ||
	    complete(db, mode)) {
		vt_db_diag(db, diag);
		vt_db_close(db);
		return -1;
	}
	*out = db;
	return 0;
}

int vt_db_open(struct vt_db **db, const char *path, enum vt_db_mode mode, struct vt_diag *diag)
{
	if (mode == VT_DB_CREATE && create(path, diag))
		return -1;
	if (vt_db_check_file(path, diag))
		return -1;
	return connect(db, path, mode, mode != VT_DB_READ && can_be_mapped(path), diag);
}

int vt_db_open_again(struct vt_db **out, const struct vt_db *db, struct vt_diag *diag)
{
	return connect(out, db->path, VT_DB_READ, 0, diag);
}

int vt_db_open_memory(struct vt_db **out, const char *name, struct vt_diag *diag)
{
	struct vt_db *db = NULL;

	if (open_raw(&db, ":memory:", SQLITE_OPEN_READWRITE, diag))
		return -1;
	set_path(db, name);
	if (write_schema(db)) {
		vt_db_diag(db, diag);
		vt_db_close(db);
		return -1;
	}
	*out = db;
	return 0;
}

void vt_db_close(struct vt_db *db)
{
	if (!db)
		return;
	while (db->statements)
		vt_stmt_free(db->statements);
	vt_db_rows_close(db->rows);
	sqlite3_close(db->raw);
	pthread_mutex_destroy(&db->run_lock);
	free(db->path);
	free(db->shown_path);
	free(db);
}

int vt_db_exec(struct vt_db *db, const char *sql)
{
	return sqlite3_exec(db->raw, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : vt_db_fail(db);
}

/*
 * BEGIN IMMEDIATE would ask for the right to write all attached databases, of which what is
 * appended is one that cannot be written: a statement that writes nothing asks for ours alone.
 */
int vt_db_begin(struct vt_db *db)
{
	if (!vt_db_exec(db, "BEGIN; UPDATE main.run SET value = value WHERE 0"))
		return 0;
	vt_db_rollback(db);
	return -1;
}

int vt_db_commit(struct vt_db *db)
{
	return vt_db_exec(db, "COMMIT");
}

void vt_db_rollback(struct vt_db *db)
{
	/* After some errors (a full disk) SQLite has rolled back already. */
	if (!sqlite3_get_autocommit(db->raw))
		sqlite3_exec(db->raw, "ROLLBACK", NULL, NULL, NULL);
}

uint64_t vt_db_used_bytes(struct vt_db *db)
{
	int64_t pages = vt_db_query_int(db, "PRAGMA main.page_count", 0) -
			vt_db_query_int(db, "PRAGMA main.freelist_count", 0);

	return (uint64_t)(pages * vt_db_query_int(db, "PRAGMA main.page_size", 0));
}

uint64_t vt_db_log_bytes(const struct vt_db *db)
{
	char *path = vt_xasprintf("%s-wal", db->path);
	struct stat st;
	uint64_t bytes = stat(path, &st) ? 0 : (uint64_t)st.st_size;

	free(path);
	return bytes;
}

int vt_db_limit_log(struct vt_db *db, uint64_t bytes)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA main.wal_autocheckpoint=%llu",
		 (unsigned long long)(bytes / PAGE_BYTES));
	return vt_db_exec(db, sql);
}

/* Without waiting for readers. */
static int empty_log(struct vt_db *db)
{
	sqlite3_stmt *raw = NULL;
	int rc = -1;

	if (sqlite3_prepare_v2(db->raw, "PRAGMA main.wal_checkpoint(TRUNCATE)", -1, &raw, NULL) ==
	    SQLITE_OK && sqlite3_step(raw) == SQLITE_ROW && !sqlite3_column_int(raw, 0))
		rc = 0;
	else
		vt_db_fail(db);
	sqlite3_finalize(raw);
	return rc;
}

int vt_db_empty_log(struct vt_db *db)
{
	int rc;

	sqlite3_busy_timeout(db->raw, 0);
	rc = empty_log(db);
	sqlite3_busy_timeout(db->raw, BUSY_TIMEOUT_MS);
	return rc;
}

int vt_db_make_single_file(struct vt_db *db)
{
	sqlite3_stmt *raw = NULL;
	int rc = -1;

	sqlite3_busy_timeout(db->raw, 0);
	if (empty_log(db))
		goto out;
	if (sqlite3_prepare_v2(db->raw, "PRAGMA main.journal_mode=DELETE", -1, &raw, NULL) !=
	    SQLITE_OK)
		goto out;
	if (sqlite3_step(raw) == SQLITE_ROW &&
	    !strcmp((const char *)sqlite3_column_text(raw, 0), "delete"))
		rc = 0;
	else
		vt_db_fail(db);
out:
	sqlite3_finalize(raw);
	sqlite3_busy_timeout(db->raw, BUSY_TIMEOUT_MS);
	return rc;
}

int vt_db_append(struct vt_db *db, const char *table, size_t nr, vt_db_row_fn fill,
		 const void *argument)
{
	if (!db->rows)
		db->rows = vt_db_rows_open(db->raw, table);
	if (!db->rows || vt_db_rows_write(db->rows, nr, fill, argument) != SQLITE_OK)
		return vt_db_fail(db);
	return 0;
}
