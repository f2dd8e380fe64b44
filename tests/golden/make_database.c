/* SPDX-License-Identifier: MIT */
/*
 * make_database OUTPUT.db INPUT.sql: a database of this version's schema, filled by the statements
 * of a file.
 */
#include <stdio.h>

#include "analyzer/database/db.h"
#include "analyzer/base/util.h"

static int read_file(const char *path, struct vt_buffer *text)
{
	char bytes[4096];
	size_t got;
	FILE *file = fopen(path, "re");

	if (!file) {
		perror(path);
		return -1;
	}
	while ((got = fread(bytes, 1, sizeof(bytes), file)) > 0)
		vt_buffer_append(text, bytes, got);
	fclose(file);
	return 0;
}

int main(int argc, char **argv)
{
	struct vt_diag diag = { 0 };
	struct vt_db *db = NULL;
	struct vt_buffer sql;
	int rc = 1;

	if (argc != 3) {
		fprintf(stderr, "usage: make_database OUTPUT.db INPUT.sql\n");
		return 2;
	}
	vt_buffer_init(&sql);
	if (read_file(WRITABLE_ALLOCATIONS, &sql) || read_file(argv[2], &sql))
		goto out;
	if (vt_db_open(&db, argv[1], VT_DB_CREATE, &diag)) {
		vt_diag_print(&diag);
		goto out;
	}
	if (vt_db_begin(db) || vt_db_exec(db, sql.data) || vt_db_commit(db) ||
	    vt_db_make_single_file(db)) {
		fprintf(stderr, "%s: %s\n", argv[2], vt_db_error(db));
		goto out;
	}
	rc = 0;
out:
	vt_db_close(db);
	vt_buffer_release(&sql);
	return rc;
}
