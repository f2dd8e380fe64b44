/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TABLES_H
#define VT_ANALYZER_TABLES_H

/*
 * The tables that `vtrace export` writes, one file of each per rank: FOLDER/TABLE/rank=N/data.csv.
 * The rank is in the path alone, as readers of partitioned tables expect it.  Facts of the
 * recording, and what the analyzer says of them: owners.
 */

#include "analyzer/base/diag.h"
#include "analyzer/ranks/rank.h"

/* NUMBER(column), TEXT(column) */
#define VT_TABLES_RUN(NUMBER, TEXT) TEXT(key) TEXT(value)

/* One row: what `vtrace report FOLDER` says of the rank. */
#define VT_TABLES_FIGURES(NUMBER, TEXT)                                                            \
	NUMBER(world_size) NUMBER(local_rank) TEXT(host) TEXT(job) NUMBER(pid) TEXT(ended)         \
	NUMBER(died) NUMBER(out_of_memory) NUMBER(events) NUMBER(lost) NUMBER(start_realtime_ns)   \
	NUMBER(duration_ns) NUMBER(device) TEXT(device_name) NUMBER(total_bytes)                   \
	NUMBER(process_used_bytes) NUMBER(allocated_bytes) NUMBER(at_event) NUMBER(steps)          \
	NUMBER(growth_bytes)

/*
 * freed_event and freed_time_ns: NULL while it lives; is_owned: it counts for its owner; stage and
 * step: when it was allocated, step NULL outside of training steps.
 */
#define VT_TABLES_ALLOCATION(NUMBER, TEXT)                                                         \
	NUMBER(event) NUMBER(freed_event) NUMBER(time_ns) NUMBER(freed_time_ns) TEXT(kind)         \
	NUMBER(device) NUMBER(address) NUMBER(size_bytes) NUMBER(requested_bytes) NUMBER(stream)   \
	NUMBER(thread) NUMBER(is_owned) TEXT(owner) TEXT(known_by) TEXT(place)                     \
	TEXT(stage) NUMBER(step)

/* Bytes in use at the event of figures.at_event that no allocation has: cached, context. */
#define VT_TABLES_REST(NUMBER, TEXT) NUMBER(device) TEXT(owner) NUMBER(bytes)

#define VT_TABLES_STEP(NUMBER, TEXT)                                                               \
	NUMBER(step) NUMBER(device) NUMBER(is_complete) NUMBER(peak_allocated_bytes)               \
	NUMBER(peak_device_used_bytes) NUMBER(end_allocated_bytes)

#define VT_TABLES_OUT_OF_MEMORY(NUMBER, TEXT)                                                      \
	NUMBER(event) NUMBER(time_ns) NUMBER(device) NUMBER(requested_bytes)                       \
	NUMBER(allocated_bytes) NUMBER(reserved_bytes)

/* X(NAME, name): in the order in which they are written. */
#define VT_TABLES(X)                                                                               \
	X(RUN, run)                                                                                \
	X(FIGURES, figures)                                                                        \
	X(ALLOCATION, allocation)                                                                  \
	X(REST, rest)                                                                              \
	X(STEP, step)                                                                              \
	X(OUT_OF_MEMORY, out_of_memory)

struct vt_tables_column {
	const char *name;
	int is_text;
};

struct vt_table_spec {
	const char *name;
	const struct vt_tables_column *columns;
	unsigned nr_columns;
};

#define VT_TABLES_ENUM(NAME, name) VT_TABLES_INDEX_##NAME,
enum { VT_TABLES(VT_TABLES_ENUM) VT_NR_TABLES };
#undef VT_TABLES_ENUM

extern const struct vt_table_spec vt_tables_all[VT_NR_TABLES];

/* FOLDER/TABLE/rank=N/data.SUFFIX; free(). */
char *vt_tables_path(const char *folder, unsigned table, int64_t rank, const char *suffix);

/*
 * Writes all tables of one recording; `rank` is it, with its figures.  0, or -1 with `diag` filled.
 */
int vt_tables_write(const char *folder, const struct vt_rank *rank, const char *rules,
		    struct vt_diag *diag);

/* What was written of a recording, whole or not, with the folders that hold nothing else. */
void vt_tables_remove(const char *folder, int64_t rank);

#endif
