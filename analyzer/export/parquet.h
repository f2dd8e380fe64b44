/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PARQUET_H
#define VT_ANALYZER_PARQUET_H

/*
 * Tables as Apache Parquet, by DuckDB: its command line is asked to read what tables.h wrote.  It
 * is only needed for this, and never linked.
 */

#include "analyzer/base/diag.h"
#include "analyzer/ranks/rank.h"

/* 0, or -1 with `diag` filled: there is no DuckDB (VTRACE_DUCKDB, else duckdb on PATH). */
int vt_parquet_check(struct vt_diag *diag);

/* Makes data.parquet of each data.csv of these ranks, which goes.  0, or -1 with `diag` filled. */
int vt_parquet_convert(const char *folder, const struct vt_rank *const *ranks, uint32_t nr,
		       struct vt_diag *diag);

#endif
