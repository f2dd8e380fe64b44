/* SPDX-License-Identifier: MIT */
/* The run table: facts of the whole recording, by key. */
#include "analyzer/database/db.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyzer/base/util.h"
#include "analyzer/database/db_connection.h"

int vt_db_run_find(struct vt_db *db, const char *key, char **value)
{
	struct vt_stmt *stmt;
	int rc;

	*value = NULL;
	pthread_mutex_lock(&db->run_lock);
	stmt = vt_db_prepare(db, "SELECT value FROM run WHERE key = ?");
	vt_stmt_bind_text(stmt, 1, key);
	rc = vt_stmt_step(stmt);
	if (rc == 1 && vt_stmt_text(stmt, 0))
		*value = vt_xstrdup(vt_stmt_text(stmt, 0));
	vt_stmt_free(stmt);
	pthread_mutex_unlock(&db->run_lock);
	return rc < 0 ? -1 : 0;
}

char *vt_db_run_get(struct vt_db *db, const char *key)
{
	char *value;

	vt_db_run_find(db, key, &value);
	return value;
}

int64_t vt_db_run_get_int(struct vt_db *db, const char *key, int64_t fallback)
{
	char *value = vt_db_run_get(db, key);

	if (value)
		fallback = strtoll(value, NULL, 10);
	free(value);
	return fallback;
}

int vt_db_run_set(struct vt_db *db, const char *key, const char *value)
{
	struct vt_stmt *stmt = vt_db_prepare(db, "INSERT OR REPLACE INTO run VALUES (?, ?)");
	int rc;

	vt_stmt_bind_text(stmt, 1, key);
	vt_stmt_bind_text(stmt, 2, value);
	rc = vt_stmt_step(stmt);
	vt_stmt_free(stmt);
	return rc;
}

int vt_db_run_set_int(struct vt_db *db, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return vt_db_run_set(db, key, text);
}
