/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_LISTENER_H
#define VT_ANALYZER_LIVE_LISTENER_H

/* A TCP socket that waits for clients. */

#include "analyzer/base/diag.h"

#define VT_LISTENER_ADDRESS "127.0.0.1"

struct vt_listener {
	int fd;    /* does not block */
	char *name; /* "127.0.0.1:9400", "[::1]:9400": with the port that it got for port 0 */
};

/* "PORT", "ADDRESS:PORT" or "[ADDRESS]:PORT"; both free().  0, or -1: not one of these. */
int vt_listener_parse(const char *text, char **address, char **port);

/* 0, or -1 with `diag` filled (exit code 3): no such address, or the port is taken. */
int vt_listener_open(struct vt_listener *listener, const char *address, const char *port,
		     struct vt_diag *diag);
void vt_listener_close(struct vt_listener *listener);

#endif
