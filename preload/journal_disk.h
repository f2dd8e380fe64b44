/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_JOURNAL_DISK_H
#define VT_PRELOAD_JOURNAL_DISK_H

/*
 * The file behind the journal.  It is reached by its name each time: a descriptor that stayed open
 * could become one of the host's.  The name may meanwhile belong to another file: device and inode
 * are compared.
 *
 * Context: hook; one thread at a time.
 */

/*
 * Creates the file, which must not exist, readable by its owner only and never through a link.
 * Returns a descriptor that the caller closes, or a negative errno.
 */
int vt_journal_disk_create(const char *path);

/* The same file again, to read and write.  -ESTALE if the name belongs to another file. */
int vt_journal_disk_open(void);

const char *vt_journal_disk_path(void);

#endif
