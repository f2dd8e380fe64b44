/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_READERS_H
#define VT_ANALYZER_READERS_H

/*
 * Reads many recordings, each in a separate process: as many at once as there are processors,
 * fewer where they are large.  Memory does not grow with their number, and one that brings its
 * reader down is one that could not be read.
 */

#include <stddef.h>
#include <stdint.h>

struct vt_readers_work {
	const char *const *files;
	uint32_t nr;
	/*
	 * What is to be known of a recording, as text: free().  Mostly in a separate process,
	 * where `context` is what it was when the work began.
	 */
	char *(*read)(const char *file, void *context);
	/*
	 * That text, in this process and in any order; `problem` is why it is not whole, where it
	 * is not.  Both are borrowed.
	 */
	void (*take)(uint32_t index, const char *text, size_t len, const char *problem,
		     void *context);
	void *context;
};

/* Shows how far it is on a terminal. */
void vt_readers_run(const struct vt_readers_work *work);

#endif
