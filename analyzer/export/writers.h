/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_WRITERS_H
#define VT_ANALYZER_WRITERS_H

/*
 * The formats of other programs: a table, and what each writer is given.  One file per format.
 *
 * X(function, name, scope)
 */

#include <stdint.h>
#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/progress.h"
#include "analyzer/model/describe.h"

#define VT_WRITERS(X)                                                                              \
	X(pytorch, "pytorch", UNTIL)                                                               \
	X(perfetto, "perfetto", TIMELINE)                                                          \
	X(chrome, "chrome", TIMELINE)                                                              \
	X(kineto, "kineto", TIMELINE)                                                              \
	X(memory_timeline, "memory-timeline", TIMELINE)                                            \
	X(pprof, "pprof", MOMENT)                                                                  \
	X(speedscope, "speedscope", MOMENT)                                                        \
	X(folded, "folded", MOMENT)

enum vt_writer_scope {
	VT_WRITER_TIMELINE, /* the whole recording */
	VT_WRITER_UNTIL,    /* the recording up to a moment */
	VT_WRITER_MOMENT,   /* what is live at a moment, added up */
};

/* What blocks of one moment are added up by. */
#define VT_WRITER_BYS(X)                                                                           \
	X(STACK, "stack")                                                                          \
	X(OWNER, "owner")                                                                          \
	X(MODULE, "module")

#define VT_WRITER_BY_ENUM(name, text) VT_WRITER_BY_##name,
enum vt_writer_by { VT_WRITER_BYS(VT_WRITER_BY_ENUM) VT_NR_WRITER_BYS };
#undef VT_WRITER_BY_ENUM

struct vt_writer_job {
	struct vt_analysis *analysis;
	struct vt_describe describe;
	FILE *out;
	int64_t event; /* the moment; of VT_WRITER_TIMELINE the last event */
	int device;    /* VT_WHEN_ALL_DEVICES, or a CUDA ordinal */
	enum vt_writer_by by;
	int is_whole; /* nothing is left out */
	struct vt_progress progress;
	char *left_out; /* set by a writer that left something out: what; free() */
};

/* Errors are those of job->out. */
typedef void (*vt_writer_fn)(struct vt_writer_job *job);

#define VT_WRITER_DECLARE(function, name, scope)                                                   \
	void vt_write_##function(struct vt_writer_job *job);
VT_WRITERS(VT_WRITER_DECLARE)
#undef VT_WRITER_DECLARE

/*
 * Shows how far a writer is that has done `done` of `all`; 0 where it may stop, because nothing
 * more can be written.
 */
int vt_writer_continues(struct vt_writer_job *job, uint64_t done, uint64_t all);
/* Whether the device is wanted. */
int vt_writer_has_device(const struct vt_writer_job *job, int device);
/* "train.py", or "rank 3, train.py"; free(). */
char *vt_writer_program(const struct vt_writer_job *job);
/* "cuda:0"; `out` has room for 16. */
const char *vt_writer_device_name(char *out, int device);

#endif
