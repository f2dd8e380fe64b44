/* SPDX-License-Identifier: MIT */
#ifndef VT_TESTS_UNIT_H
#define VT_TESTS_UNIT_H

/*
 * What the unit tests share: cmocka with its includes in order, a folder of one's own, databases
 * from journals.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzer/database/db.h"
#include "tests/lib/journal_builder.h"

/*
 * A folder that exists from unit_enter to unit_leave, for cmocka's set-up and tear-down; it is the
 * current one.
 */
int unit_enter(void **state);
int unit_leave(void **state);

/*
 * Imports a whole journal of a dead program into a new database of that name, open when it returns.
 */
struct vt_db *unit_import(struct builder *b, const char *path);
/* The same from slots, `max_records` per batch, without an end. */
struct vt_db *unit_import_slots(const struct vt_journal_header *header, const void *slots,
				uint64_t nr_slots, uint64_t max_records, const char *path);

/* Everything in the database as text; free(). */
char *unit_dump(struct vt_db *db);

int64_t unit_int(struct vt_db *db, const char *sql);
/* Of an allocation by its id; INT64_MIN: alive, or not there. */
int64_t unit_freed_event(struct vt_db *db, int64_t id);
/* Asserts that the query's first value is that text. */
void unit_assert_text(struct vt_db *db, const char *sql, const char *expected);

#endif
