/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STRING_TABLE_H
#define VT_ANALYZER_STRING_TABLE_H

/*
 * Rows of the database by their id: a table that hands out text for string.id, and the check that
 * ids of a damaged file cannot make us allocate the world.
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "analyzer/base/diag.h"

struct vt_string_table {
	char **text;	 /* by id; NULL where there is none */
	uint32_t *first; /* by id: the lowest id of that text */
	uint32_t nr;	 /* largest id + 1 */
};

/*
 * Whether a row's id is one of that table's: in a damaged file the largest need not be the one that
 * vt_string_table_length was given.  Returns 0, or -1 with `diag` filled.
 */
int vt_string_table_check(struct vt_db *db, const char *name, int64_t id, uint32_t length,
			  struct vt_diag *diag);

/* Returns 0, or -1 with `diag` filled. */
int vt_string_table_load(struct vt_string_table *table, struct vt_db *db, struct vt_diag *diag);
void vt_string_table_release(struct vt_string_table *table);

/* Text of an id, NULL for 0 and for ids that are not there. */
const char *vt_string_table_get(const struct vt_string_table *table, uint32_t id);

/*
 * The one id that represents all ids of one text (the recorder's tables do not know each other);
 * 0 for ids that are not there.
 */
uint32_t vt_string_table_first(const struct vt_string_table *table, uint32_t id);

/* The id that represents a text, which becomes a new row if there is none. */
uint32_t vt_string_table_add(struct vt_string_table *table, const char *text);

/*
 * Largest id of table `name` + 1, as the length of an array indexed by id.  Returns -1 with `diag`
 * filled when the ids are so sparse that the file cannot be one of ours.
 */
int vt_string_table_length(struct vt_db *db, const char *name, uint32_t *length,
			   struct vt_diag *diag);

#endif
