/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RANK_H
#define VT_ANALYZER_RANK_H

/*
 * What is kept of one recording of many: the figures that are compared between ranks.  A few
 * kilobytes, whatever the size of the recording.
 */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/diag.h"

/* Ends of steps to compare clocks by. */
#define VT_RANK_MOST_STEPS 64

#define VT_RANK_NONE (-1)
#define VT_RANK_MOST 1000000

struct vt_rank_owner {
	char *owner;
	uint64_t bytes;
};

/*
 * X(field, JSON key): what goes from the process that reads a recording to the one that compares
 * them.  Times are CLOCK_MONOTONIC of the rank's host, but start_realtime_ns.
 */
#define VT_RANK_NUMBERS(X)                                                                         \
	X(number)     /* the rank; VT_RANK_NONE: no launcher set it */                             \
	X(world_size) /* 0: not known */                                                           \
	X(local_rank) /* VT_RANK_NONE: not known */                                                \
	X(pid)                                                                                     \
	X(start_time_ns)                                                                           \
	X(start_realtime_ns)                                                                       \
	X(duration_ns)                                                                             \
	X(is_snapshot)       /* by `vtrace snapshot` */                                            \
	X(events)                                                                                  \
	X(lost)                                                                                    \
	X(missing_slots)     /* of its journal, which was cut */                                   \
	X(out_of_memory)     /* requests that failed */                                            \
	X(device)            /* the one it uses most; VT_RANK_NONE: none */                        \
	X(nr_devices)        /* on which it allocated */                                           \
	X(idle_device)       /* with a context and hardly used; VT_RANK_NONE: none */              \
	X(idle_bytes)        /* of the process on it; 0: not known */                              \
	X(device_bytes)      /* that the device has */                                             \
	X(peak_bytes)        /* the most that the process used, with its context */                \
	X(peak_time_ns)      /* since its start */                                                 \
	X(device_peak_bytes) /* at that moment, with other processes */                            \
	X(allocated_bytes)   /* the most in blocks, or without */                                  \
	X(event)             /* the moment that its owners are of */                               \
	X(used_now_bytes)    /* of the device at that moment, as the next five */                  \
	X(process_now_bytes) /* of it by the process, with its context */                          \
	X(has_others)        /* other processes are distinguished from the context */              \
	X(reserved_now_bytes)                                                                      \
	X(owned_now_bytes) /* in blocks, and what no allocator cut into blocks */                  \
	X(steps)           /* training steps that ended */                                         \
	X(has_growth)                                                                              \
	X(growth_bytes) /* that stay allocated per step */
#define VT_RANK_TEXTS(X)                                                                           \
	X(host)                                                                                    \
	X(job)		     /* equal for processes of one start; NULL: not known */               \
	X(command)                                                                                 \
	X(ended)                                                                                   \
	X(device_name)                                                                             \
	X(idle_where)	     /* the line that made that context; NULL: not known */                \
	X(doing)	     /* "step 2, backward" at that moment; NULL: not known */

struct vt_rank {
#define NUMBER(field) int64_t field;
#define TEXT(field) char *field;
	VT_RANK_NUMBERS(NUMBER)
	VT_RANK_TEXTS(TEXT)
#undef NUMBER
#undef TEXT
	char *file;
	char *problem; /* why it could not be read; NULL: it could, and all else is set */
	int is_copy;   /* set by ranks_runs.c: of a process whose longer recording is here, too */
	struct vt_rank_owner *owners; /* by path, with what no allocation has ("cached/pinned") */
	uint32_t nr_owners;
	int64_t *step_ends; /* of the first steps, since its start */
	uint32_t nr_step_ends;
};

struct vt_rank_options {
	const char *when;  /* attribution/moments.h */
	const char *rules; /* NULL: built in */
};

struct vt_analysis;

/*
 * Of a recording that is open as `path`.  0, or -1 with `diag` filled.  vt_rank_release in both
 * cases.
 */
int vt_rank_take(struct vt_rank *rank, struct vt_analysis *analysis, const char *path,
		 const struct vt_rank_options *options, struct vt_diag *diag);
/* Reads a whole recording.  0, or -1 with `diag` filled.  vt_rank_release in both cases. */
int vt_rank_read(struct vt_rank *rank, const char *path, const struct vt_rank_options *options,
		 struct vt_diag *diag);
void vt_rank_release(struct vt_rank *rank);

/* One line of JSON (free()), and back: 0, or -1 where it is none. */
char *vt_rank_pack(const struct vt_rank *rank);
int vt_rank_unpack(struct vt_rank *rank, const char *text, size_t len);

/* Ended otherwise than by its own will and well. */
int vt_rank_has_died(const struct vt_rank *rank);

#endif
