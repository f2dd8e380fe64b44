/* SPDX-License-Identifier: MIT */
#include "analyzer/model/string_table.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"

/*
 * Ids are given out one after the other; races of the recorder leave small gaps, never ones like
 * this.
 */
#define MAX_GAP_FACTOR 64
#define ALWAYS_ALLOWED (1 << 20)

int vt_string_table_length(struct vt_db *db, const char *name, uint32_t *length,
			   struct vt_diag *diag)
{
	char sql[128];
	int64_t max, count;

	snprintf(sql, sizeof(sql), "SELECT max(id) FROM %s", name);
	max = vt_db_query_int(db, sql, 0);
	count = vt_db_count(db, name);
	if (count < 0) {
		vt_db_diag(db, diag);
		return -1;
	}
	if (max < 0 || max >= UINT32_MAX || max > ALWAYS_ALLOWED + count * MAX_GAP_FACTOR) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: impossible id %lld in table %s",
			    vt_db_path(db), (long long)max, name);
		return -1;
	}
	*length = (uint32_t)max + 1;
	return 0;
}

int vt_string_table_check(struct vt_db *db, const char *name, int64_t id, uint32_t length,
			  struct vt_diag *diag)
{
	if (id >= 0 && id < length)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: impossible id %lld in table %s", vt_db_path(db),
		    (long long)id, name);
	return -1;
}

static int compare_texts(const void *a, const void *b, void *text)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(((char *const *)text)[x], ((char *const *)text)[y]);

	return order ? order : x < y ? -1 : x > y;
}

static void find_first(struct vt_string_table *table)
{
	uint32_t *sorted = vt_xcalloc(table->nr, sizeof(*sorted)), nr = 0;

	table->first = vt_xcalloc(table->nr, sizeof(*table->first));
	for (uint32_t i = 0; i < table->nr; i++)
		if (table->text[i])
			sorted[nr++] = i;
	qsort_r(sorted, nr, sizeof(*sorted), compare_texts, table->text);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t before = i ? sorted[i - 1] : 0;
		int is_same = i && !strcmp(table->text[before], table->text[sorted[i]]);

		table->first[sorted[i]] = is_same ? table->first[before] : sorted[i];
	}
	free(sorted);
}

int vt_string_table_load(struct vt_string_table *table, struct vt_db *db, struct vt_diag *diag)
{
	struct vt_stmt *stmt;
	int rc;

	memset(table, 0, sizeof(*table));
	if (vt_string_table_length(db, "string", &table->nr, diag))
		return -1;
	table->text = vt_xcalloc(table->nr, sizeof(*table->text));
	stmt = vt_db_prepare(db, "SELECT id, text FROM string WHERE id > 0");
	while ((rc = vt_stmt_step(stmt)) == 1) {
		const char *text = vt_stmt_text(stmt, 1);
		int64_t id = vt_stmt_int(stmt, 0);

		if (vt_string_table_check(db, "string", id, table->nr, diag)) {
			rc = -1;
			break;
		}
		table->text[id] = vt_printable_copy(text ? text : "");
	}
	vt_stmt_free(stmt);
	if (rc < 0)
		vt_db_diag(db, diag);
	else
		find_first(table);
	return rc;
}

uint32_t vt_string_table_add(struct vt_string_table *table, const char *text)
{
	uint32_t id = table->nr;

	for (uint32_t i = 1; i < table->nr; i++)
		if (table->text[i] && !strcmp(table->text[i], text))
			return table->first[i];
	table->nr++;
	table->text = vt_xrealloc(table->text, table->nr * sizeof(*table->text));
	table->first = vt_xrealloc(table->first, table->nr * sizeof(*table->first));
	table->text[id] = vt_printable_copy(text);
	table->first[id] = id;
	return id;
}

void vt_string_table_release(struct vt_string_table *table)
{
	for (uint32_t i = 0; i < table->nr; i++)
		free(table->text[i]);
	free(table->text);
	free(table->first);
	memset(table, 0, sizeof(*table));
}

const char *vt_string_table_get(const struct vt_string_table *table, uint32_t id)
{
	return id < table->nr ? table->text[id] : NULL;
}

uint32_t vt_string_table_first(const struct vt_string_table *table, uint32_t id)
{
	return id < table->nr ? table->first[id] : 0;
}
