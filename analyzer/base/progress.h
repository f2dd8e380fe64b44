/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PROGRESS_H
#define VT_ANALYZER_PROGRESS_H

/*
 * How far something is that lasts longer than a second: one line on a standard error that is a
 * terminal, gone when it is done.
 */

#include <pthread.h>
#include <stdint.h>

struct vt_progress {
	const char *what; /* "reading recordings"; borrowed */
	uint64_t start_ns;
	int is_terminal;
	int is_shown;
};

void vt_progress_init(struct vt_progress *progress, const char *what);
/* "vtrace: reading recordings: 3 of 8" */
void vt_progress_count(struct vt_progress *progress, uint32_t done, uint32_t nr);
/* "vtrace: importing the journal:  37 %"; `all` 0: not known yet. */
void vt_progress_share(struct vt_progress *progress, uint64_t done, uint64_t all);
void vt_progress_end(struct vt_progress *progress);

/*
 * What cannot say how far it is: "vtrace: finding owners", shown by a thread when a second has
 * passed, and then whenever it is another part.  Begin and end once each, in the same thread.
 */
struct vt_progress_parts {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t is_changed;
	const char *part; /* borrowed; NULL: done */
	int is_started;
};

void vt_progress_parts_begin(struct vt_progress_parts *parts, const char *part);
void vt_progress_parts_next(struct vt_progress_parts *parts, const char *part);
void vt_progress_parts_end(struct vt_progress_parts *parts);

#endif
