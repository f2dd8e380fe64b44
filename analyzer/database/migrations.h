/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MIGRATIONS_H
#define VT_ANALYZER_MIGRATIONS_H

/*
 * Databases of older schemas.  The schema is only ever added to, so what an old file lacks is
 * empty: a reader gets it as temporary tables and views in front of the file, which is not touched;
 * a writer (an import that continues) adds it to the file.
 */

/*
 * The statements that complete a file of that version, for a transaction of the writer's; NULL:
 * nothing is missing.
 */
const char *vt_migrations_sql(int version, int is_reader);

/* The view `allocation` of files of schema 10, as the schema had it. */
extern const char vt_migrations_view_10[];

#endif
