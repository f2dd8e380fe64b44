/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_JOURNAL_FILE_H
#define VT_ANALYZER_JOURNAL_FILE_H

/*
 * A journal as a file: one importer at a time holds it (an exclusive flock), reads it through a
 * mapping that follows its growth (a copy, where the file system refuses to map it), publishes its
 * progress in the header and gives imported chunks back to the file system.
 */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/import/import.h"
#include "common/journal_format.h"

struct vt_journal_file {
	int fd;
	char *path;
	void *map; /* the whole file; at most the importer's part of the header is written */
	uint64_t map_bytes;
	uint64_t punched_chunks; /* chunks below were given back */
	/*
	 * Slots below the head that lie after the end of the file.  Programs grow the file first:
	 * somebody has cut it, a copy that did not get to its end, say.
	 */
	uint64_t missing_slots;
	/* The file cannot be mapped: `map` is private memory, and holds this much of the slots. */
	int is_plain;
	uint64_t read_slots;
	/*
	 * The program's process id means nothing here.  The file is then only read: over a network
	 * our page of its header may be older than the program's.
	 */
	int is_elsewhere;
};

enum vt_journal_open {
	VT_JOURNAL_OPENED = 0,
	VT_JOURNAL_FAILED = -1, /* `diag` says why: missing, empty, foreign, newer, damaged */
	VT_JOURNAL_BUSY = -2,   /* another importer holds it */
	VT_JOURNAL_GONE = -3,   /* not there: another importer has finished it */
};

/* Opens and locks.  On anything but VT_JOURNAL_OPENED nothing is held and nothing was modified. */
enum vt_journal_open vt_journal_file_open(struct vt_journal_file *file, const char *path,
					  struct vt_diag *diag);
/* Gives the lock back; `importer_pid` is cleared. */
void vt_journal_file_close(struct vt_journal_file *file);

/* A copy of the header of a journal that somebody else may hold.  0, or -1 with `diag` filled. */
int vt_journal_file_peek(const char *path, struct vt_journal_header *header, struct vt_diag *diag);
/* Whether the program that wrote it runs, or ran, where its process id cannot be looked up. */
int vt_journal_file_is_elsewhere(const struct vt_journal_header *header);
/* Whether an importer holds the journal at this moment. */
int vt_journal_file_is_held(const char *path);

/* The header in the mapping; invalid after the next vt_journal_file_slots. */
struct vt_journal_header *vt_journal_file_header(struct vt_journal_file *file);

/*
 * Follows the file's growth.  Returns slot 0 and sets *nr_slots to how many may be read: below the
 * writer's head and inside the file.  NULL with errno if the file cannot be mapped.
 */
const void *vt_journal_file_slots(struct vt_journal_file *file, uint64_t *nr_slots);

/*
 * Publishes to the program (and whoever looks) how far the import is; the rows must be committed.
 * A file that was cut stays as it is.
 */
void vt_journal_file_publish(struct vt_journal_file *file,
			     const struct vt_import_progress *progress);
/* The highest use of a device, of a program that ends and of the slots below `slots`. */
void vt_journal_file_publish_peak(struct vt_journal_file *file, uint64_t slots, uint64_t bytes,
				  int32_t device);
/* Gives whole chunks below `slot` back.  Files that were cut, or cannot have holes, keep them. */
void vt_journal_file_recycle(struct vt_journal_file *file, uint64_t slot);
/* Deletes the file: only after everything in it is in the database for good. */
int vt_journal_file_delete(struct vt_journal_file *file);

#endif
