/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_WRITER_H
#define VT_ANALYZER_WRITER_H

/*
 * Writes the events of a snapshot as the importer of a journal writes those of a recording, with
 * numbers that count from 1, in transactions of many.  Errors are the database's, in `diag`.
 */

#include "analyzer/import/import_allocations.h"
#include "analyzer/import/import_names.h"
#include "analyzer/import/import_rows.h"
#include "analyzer/import/peak.h"

struct vt_writer {
	struct vt_db *db; /* borrowed */
	struct vt_import_rows rows;
	struct vt_import_allocations allocations;
	struct vt_import_names names;
	struct vt_peak_totals peak;
	uint64_t nr_events;
	uint64_t nr_waiting; /* in the open transaction */
	uint64_t time_ns;    /* of the next event */
};

/* The one thread that everything is on: a snapshot names none. */
#define VT_WRITER_THREAD 1

/* Functions that PyTorch's allocator calls for what a snapshot names. */
enum vt_writer_function {
#define VT_CUDA_API(id, name, version, kind, op) VT_WRITER_##name = id,
#define VT_FRAMEWORK_API(id, name, kind, op)     VT_WRITER_##name = id,
#include "common/cuda_api.def"
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API
};

/* Opens the first transaction.  0 or -1. */
int vt_writer_init(struct vt_writer *writer, struct vt_db *db, struct vt_diag *diag);
/* Writes what is left, and counts.  0 or -1. */
int vt_writer_finish(struct vt_writer *writer, struct vt_diag *diag);
void vt_writer_release(struct vt_writer *writer);

/* A record for the fields that are the same in all of a snapshot. */
struct vt_event_record vt_writer_record(const struct vt_writer *writer, enum vt_op op,
					enum vt_kind kind, int device,
					enum vt_writer_function function);
/* 0 or -1. */
int vt_writer_event(struct vt_writer *writer, const struct vt_event_record *record,
		    struct vt_diag *diag);
/* What is said of what lies at an address since the last event. */
int vt_writer_tensor(struct vt_writer *writer, const struct vt_tensor_record *record,
		     struct vt_diag *diag);
int vt_writer_mark(struct vt_writer *writer, enum vt_mark_kind kind, uint32_t name,
		   struct vt_diag *diag);

#endif
