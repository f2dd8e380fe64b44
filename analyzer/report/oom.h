/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OOM_H
#define VT_ANALYZER_OOM_H

/*
 * Why a request failed: what it was, what was live, what every free byte was worth for it, and what
 * would have served it.  The first screen of a report on a run that did not fit, and all of
 * `vtrace oom`.
 */

#include <stdio.h>

#include "analyzer/analysis/books.h"
#include "analyzer/diagnosis/next_passes.h"
#include "analyzer/diagnosis/oom_remedies.h"
#include "analyzer/diagnosis/whole_step.h"
#include "analyzer/model/producer.h"
#include "analyzer/report/frag.h"
#include "analyzer/report/peak_context.h"

#define VT_OOM_CAUSES(X)                                                                           \
	X(UNKNOWN, "unknown")                                                                      \
	X(CAPACITY, "capacity")           /* not even all free bytes together are enough */        \
	X(FRAGMENTATION, "fragmentation") /* they would be, but lie apart */                       \
	X(OTHERS, "other processes")      /* they would be, with what other processes use */       \
	X(LIMIT, "limit") /* the device had enough: the program, or PyTorch, is kept below it */

#define VT_OOM_CAUSE_ENUM(name, text) VT_OOM_##name,
enum vt_oom_cause { VT_OOM_CAUSES(VT_OOM_CAUSE_ENUM) VT_NR_OOM_CAUSES };
#undef VT_OOM_CAUSE_ENUM

extern const char *const vt_oom_causes[VT_NR_OOM_CAUSES];

struct vt_oom {
	struct vt_analysis *analysis;
	const struct vt_describe *describe;  /* borrowed */
	const struct vt_out_of_memory *oom;  /* NULL: none, and nothing else is filled in */
	int device;                          /* that was asked for, or VT_WHEN_ALL_DEVICES */
	uint32_t nr_ooms;                    /* of the whole run */
	struct vt_peak_context place;
	struct vt_producer producer; /* of the request */
	const char *owner; /* of what its place made before; NULL: it made nothing */
	struct vt_books books;
	struct vt_diag unplayed; /* why there is no replay; empty text: there is */
	struct vt_frag frag;     /* of the one device at that event, where there is a replay */
	struct vt_oom_remedies remedies;
	struct vt_smaller smaller;
	struct vt_whole_step whole;
	int is_ending; /* the program did not go on: what a whole step needs is asked, too */
	struct vt_next_passes next;
	enum vt_oom_cause cause;
	uint64_t device_free_bytes; /* UINT64_MAX: not known */
	uint64_t missing_bytes;     /* with so many more on the device, it would have been served */
	/* Live results of a forward that autograd records, of a run that came to no backward. */
	uint64_t kept_bytes;
};

/*
 * The last failed request of a device (VT_WHEN_ALL_DEVICES: of all); the rest must outlive it.  In
 * parts: the first needs no owner, and may run beside what finds them (analysis.h); the third plays
 * smaller batches, and may run beside everything that leaves the traces as they are.
 * vt_oom_release also after the first alone.
 */
void vt_oom_begin(struct vt_oom *oom, struct vt_analysis *analysis, int device);
void vt_oom_judge(struct vt_oom *oom, const struct vt_describe *describe);
void vt_oom_play_smaller(struct vt_oom *oom);
void vt_oom_finish(struct vt_oom *oom);
void vt_oom_release(struct vt_oom *oom);

/* NULL: nothing was replayed. */
const struct vt_frag_device *vt_oom_device(const struct vt_oom *oom);

void vt_oom_print_text(const struct vt_oom *oom, FILE *out);
/* Everything that a report's "out_of_memory" has; null where no request failed. */
json_t *vt_oom_json(const struct vt_oom *oom);

#endif
