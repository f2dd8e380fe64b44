/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SHARED_DEVICES_H
#define VT_ANALYZER_SHARED_DEVICES_H

/*
 * The file through which the processes of one simulation share its devices (VTRACE_SIM_SHARED, see
 * simulator/README.md), in $TMPDIR.
 *
 *  S1  Whoever made it holds a lock of it while the program runs, which SIGKILL ends as well: a
 *      file that nobody has locked is removed by the next one that makes one.
 *  S2  A process that uses the file has mapped it, and keeps what it has when the name is gone.
 */

struct vt_shared_devices {
	char *path; /* NULL: there is none */
	int fd;
};

/* 0; -1: it cannot be made. */
int vt_shared_devices_make(struct vt_shared_devices *shared);
/* Also of zeros. */
void vt_shared_devices_remove(struct vt_shared_devices *shared);

#endif
