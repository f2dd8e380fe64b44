/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DB_CHECK_H
#define VT_ANALYZER_DB_CHECK_H

/* Whether a file is one of our databases, by plain reads, before SQLite may write anything. */

#include "analyzer/base/diag.h"

#define VT_DB_APPLICATION_ID 0x76747263 /* "vtrc" */
#define VT_DB_SCHEMA_VERSION 11

/* 0, or -1 with `diag` filled: missing, not ours, truncated, newer. */
int vt_db_check_file(const char *path, struct vt_diag *diag);

#endif
