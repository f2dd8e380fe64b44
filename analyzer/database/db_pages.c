/* SPDX-License-Identifier: MIT */
#include "analyzer/database/db_pages.h"

#include <endian.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/database/db_connection.h"
#include "analyzer/database/db_format.h"

#define MOST_LEVELS    16
#define MOST_COLUMNS   64 /* of the table */
#define NOT_ASKED      UINT8_MAX
#define NUMBER_BYTES   8
#define MOST_TYPE_HEAD 127 /* as one byte says it: we write no more */

/* What is read ahead: pages of a table mostly follow each other. */
#define WINDOW_BYTES (256u << 10)

struct pages {
	const struct vt_scan *scan;
	sqlite3_file *file;
	uint32_t page_bytes, usable_bytes, nr_pages;
	uint32_t nr_read; /* a damaged file's pages may point to each other in a circle */
	uint8_t slot_of[MOST_COLUMNS]; /* by column of a record: index in the row, or NOT_ASKED */
	unsigned int id_column;        /* of a record */
	unsigned int nr_columns;       /* of a record, up to the last that is asked for */
	int64_t last_id;
	int is_any;
	unsigned char *levels[MOST_LEVELS]; /* a page each */
	unsigned char *window;              /* with room behind it for a number */
	uint32_t window_page, window_nr;    /* the first, and how many */
	uint32_t last_page;                 /* that was asked for */
	struct vt_db_row row;
};

static uint32_t number_at(const unsigned char *at, unsigned int bytes)
{
	uint32_t number = 0;

	for (unsigned int i = 0; i < bytes; i++)
		number = number << 8 | at[i];
	return number;
}

/* NULL: it does not end before `end`. */
static const unsigned char *read_varint(const unsigned char *at, const unsigned char *end,
					uint64_t *value)
{
	*value = 0;
	for (unsigned int i = 0; i < 9 && at < end; i++, at++) {
		if (i == 8) {
			*value = *value << 8 | *at;
			return at + 1;
		}
		*value = *value << 7 | (*at & 0x7f);
		if (!(*at & 0x80))
			return at + 1;
	}
	return NULL;
}

/*
 * Fills the window from that page on: with one page, unless it follows the one before.  Pages that
 * were used before, and deleted, come in any order.
 */
static int fill_window(struct pages *pages, uint32_t page)
{
	uint32_t nr = page == pages->last_page + 1 ? WINDOW_BYTES / pages->page_bytes : 1;

	nr = nr > pages->nr_pages - page + 1 ? pages->nr_pages - page + 1 : nr;
	pages->window_page = page;
	pages->window_nr = nr;
	return pages->file->pMethods->xRead(
		       pages->file, pages->window, (int)(nr * pages->page_bytes),
		       (sqlite3_int64)(page - 1) * pages->page_bytes) != SQLITE_OK;
}

/* In the window, until another one is asked for; NULL: there is no such page, or all were read. */
static const unsigned char *find_page(struct pages *pages, uint32_t page)
{
	/* Page 1 holds the schema, never this table. */
	if (page < 2 || page > pages->nr_pages || ++pages->nr_read > pages->nr_pages)
		return NULL;
	if (page - pages->window_page >= pages->window_nr && fill_window(pages, page))
		return NULL;
	pages->last_page = page;
	return pages->window + (size_t)(page - pages->window_page) * pages->page_bytes;
}

/* SQLite's types of numbers: how many bytes each has; -1: it is none. */
static int type_bytes(unsigned int type)
{
	static const int8_t bytes[] = { 0, 1, 2, 3, 4, 6, 8, -1, 0, 0 };

	return type < VT_ARRAY_SIZE(bytes) ? bytes[type] : -1;
}

static void put_value(struct pages *pages, unsigned int slot, unsigned int type,
		      const unsigned char *at, int bytes)
{
	uint64_t big_endian;

	if (bytes) {
		memcpy(&big_endian, at, sizeof(big_endian));
		pages->row.values[slot] = (int64_t)be64toh(big_endian) >> (64 - CHAR_BIT * bytes);
		return;
	}
	/* NULL, 0 or 1. */
	pages->row.values[slot] = type == VT_DB_TYPE_1;
	pages->row.nulls |= (uint32_t)(type == VT_DB_TYPE_NULL) << slot;
}

/* A record: its head says the type of each column, whose bytes follow.  -1: not as we write it. */
static int read_record(struct pages *pages, const unsigned char *at, const unsigned char *end)
{
	ptrdiff_t head = at < end ? at[0] : 0;
	const unsigned char *types = at + 1, *value;

	if (head > MOST_TYPE_HEAD || head < 1 + (ptrdiff_t)pages->nr_columns || head > end - at ||
	    types[pages->id_column])
		return -1;
	value = at + head;
	for (unsigned int i = 0; i < pages->nr_columns; i++) {
		int bytes = type_bytes(types[i]);

		if (bytes < 0 || bytes > end - value)
			return -1;
		if (pages->slot_of[i] != NOT_ASKED)
			put_value(pages, pages->slot_of[i], types[i], value, bytes);
		value += bytes;
	}
	return 0;
}

/* -1: not as we write it. */
static int read_cell(struct pages *pages, const unsigned char *at, const unsigned char *end)
{
	const struct vt_scan *scan = pages->scan;
	uint64_t len, id;

	at = read_varint(at, end, &len);
	at = at ? read_varint(at, end, &id) : NULL;
	/* A longer record goes on elsewhere. */
	if (!at || len > (uint64_t)(end - at) || len > pages->usable_bytes - 35)
		return -1;
	if (pages->is_any && (int64_t)id <= pages->last_id)
		return -1;
	pages->is_any = 1;
	pages->last_id = (int64_t)id;
	if ((int64_t)id <= scan->after || (int64_t)id > scan->upto)
		return 0;
	pages->row.nulls = 0;
	if (read_record(pages, at, at + len))
		return -1;
	/* Its column is NULL in the record; of a column that is no alias of it, it would not be. */
	pages->row.values[0] = (int64_t)id;
	pages->row.nulls &= ~1u;
	scan->take(scan->context, &pages->row);
	return 0;
}

/* Where the cell with that number is; NULL: outside of its page. */
static const unsigned char *cell_at(const struct pages *pages, const unsigned char *page,
				    unsigned int head, uint32_t number)
{
	uint32_t place = head + VT_DB_PLACE_BYTES * number, at;

	if (place + VT_DB_PLACE_BYTES > pages->usable_bytes)
		return NULL;
	at = number_at(page + place, VT_DB_PLACE_BYTES);
	return at < pages->usable_bytes ? page + at : NULL;
}

static int read_leaf(struct pages *pages, const unsigned char *page)
{
	uint32_t nr = number_at(page + VT_DB_NR_CELLS_OFFSET, 2);

	for (uint32_t i = 0; i < nr; i++) {
		const unsigned char *cell = cell_at(pages, page, VT_DB_LEAF_HEAD_BYTES, i);

		if (!cell || read_cell(pages, cell, page + pages->usable_bytes))
			return -1;
	}
	return 0;
}

static int read_tree(struct pages *pages, uint32_t number, unsigned int level);

/* Each child but the last comes with the highest id in it; a tree has few levels. */
static int read_interior(struct pages *pages, const unsigned char *page, unsigned int level)
{
	const unsigned char *end = page + pages->usable_bytes;
	uint32_t nr = number_at(page + VT_DB_NR_CELLS_OFFSET, 2);
	uint64_t highest;

	for (uint32_t i = 0; i < nr; i++) {
		const unsigned char *cell = cell_at(pages, page, VT_DB_INTERIOR_HEAD_BYTES, i);

		if (!cell || end - cell < (ptrdiff_t)VT_DB_CHILD_BYTES ||
		    !read_varint(cell + VT_DB_CHILD_BYTES, end, &highest))
			return -1;
		if ((int64_t)highest > pages->scan->after &&
		    read_tree(pages, number_at(cell, VT_DB_CHILD_BYTES), level + 1))
			return -1;
		if ((int64_t)highest >= pages->scan->upto)
			return 0;
	}
	return read_tree(pages, number_at(page + VT_DB_LAST_CHILD_OFFSET, VT_DB_CHILD_BYTES),
			 level + 1);
}

/* Pages above leaves are kept while their children are read. */
static unsigned char *keep_page(struct pages *pages, const unsigned char *page, unsigned int level)
{
	if (level >= MOST_LEVELS)
		return NULL;
	if (!pages->levels[level])
		pages->levels[level] = vt_xmalloc(pages->page_bytes);
	return memcpy(pages->levels[level], page, pages->page_bytes);
}

static int read_tree(struct pages *pages, uint32_t number, unsigned int level)
{
	const unsigned char *page = find_page(pages, number);

	if (page && page[0] == VT_DB_LEAF)
		return read_leaf(pages, page);
	if (!page || page[0] != VT_DB_INTERIOR)
		return -1;
	page = keep_page(pages, page, level);
	return page ? read_interior(pages, page, level) : -1;
}

/* P1: a log that lies beside a file is used, whatever the file's header says. */
static int has_log(struct vt_db *db)
{
	struct vt_stmt *stmt = vt_db_prepare(db, "PRAGMA main.journal_mode");
	int has = vt_stmt_step(stmt) != 1 || strcmp(vt_stmt_text(stmt, 0), "wal") == 0;

	vt_stmt_free(stmt);
	return has;
}

static int open_file(struct pages *pages, struct vt_db *db)
{
	unsigned char header[VT_DB_FILE_HEADER_BYTES];
	sqlite3_int64 bytes;

	if (sqlite3_get_autocommit(db->raw) || !sqlite3_db_readonly(db->raw, "main") ||
	    has_log(db) ||
	    sqlite3_file_control(db->raw, "main", SQLITE_FCNTL_FILE_POINTER, &pages->file) !=
		    SQLITE_OK ||
	    !pages->file || !pages->file->pMethods ||
	    pages->file->pMethods->xRead(pages->file, header, sizeof(header), 0) != SQLITE_OK ||
	    pages->file->pMethods->xFileSize(pages->file, &bytes) != SQLITE_OK)
		return -1;
	pages->page_bytes = number_at(header + VT_DB_PAGE_BYTES_OFFSET, 2);
	pages->page_bytes = pages->page_bytes == 1 ? 65536 : pages->page_bytes;
	if (pages->page_bytes < 512)
		return -1;
	pages->usable_bytes = pages->page_bytes - header[VT_DB_UNUSED_BYTES_OFFSET];
	bytes /= pages->page_bytes;
	pages->nr_pages = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
	return 0;
}

/* Of the table itself, and not of a view that stands before it; 0: there is none. */
static uint32_t find_root(struct vt_db *db, const char *table)
{
	struct vt_stmt *stmt = vt_db_prepare(
		db,
		"SELECT rootpage FROM main.sqlite_master WHERE type = 'table' AND name = ?1"
		" AND NOT EXISTS (SELECT 1 FROM temp.sqlite_master WHERE name = ?1)");
	int64_t root;

	vt_stmt_bind_text(stmt, 1, table);
	root = vt_stmt_step(stmt) == 1 ? vt_stmt_int(stmt, 0) : 0;
	vt_stmt_free(stmt);
	return root > 0 && root < UINT32_MAX ? (uint32_t)root : 0;
}

static uint8_t slot_of(const struct vt_scan *scan, const char *name)
{
	for (unsigned int i = 0; name && i < scan->nr_columns; i++)
		if (strcmp(scan->columns[i], name) == 0)
			return (uint8_t)i;
	return NOT_ASKED;
}

/* Which columns of a record are asked for; -1: not all are there, or the first is no id. */
static int find_columns(struct pages *pages, struct vt_db *db)
{
	const struct vt_scan *scan = pages->scan;
	struct vt_stmt *stmt = vt_db_prepare(
		db, "SELECT name, pk AND type = 'INTEGER' FROM pragma_table_xinfo(?, 'main')");
	unsigned int nr_found = 0, has_id = 0, nr = 0;

	vt_stmt_bind_text(stmt, 1, scan->table);
	while (vt_stmt_step(stmt) == 1 && nr < MOST_COLUMNS) {
		uint8_t slot = slot_of(scan, vt_stmt_text(stmt, 0));

		pages->slot_of[nr++] = slot;
		if (slot == NOT_ASKED)
			continue;
		if (slot == 0 && vt_stmt_int(stmt, 1) == 1) {
			has_id = 1;
			pages->id_column = nr - 1;
		}
		pages->nr_columns = nr;
		nr_found++;
	}
	vt_stmt_free(stmt);
	return has_id && nr_found == scan->nr_columns ? 0 : -1;
}

int vt_db_pages_scan(struct vt_db *db, const struct vt_scan *scan)
{
	struct pages pages = { .scan = scan };
	uint32_t root = find_root(db, scan->table);
	int rc = -1;

	if (root && !find_columns(&pages, db) && !open_file(&pages, db)) {
		pages.window = vt_xmalloc(WINDOW_BYTES + NUMBER_BYTES);
		rc = read_tree(&pages, root, 0);
	}
	for (unsigned int i = 0; i < MOST_LEVELS; i++)
		free(pages.levels[i]);
	free(pages.window);
	return rc ? 1 : 0;
}
