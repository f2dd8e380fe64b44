/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_HTTP_H
#define VT_ANALYZER_LIVE_HTTP_H

/*
 * One page over HTTP/1.1, for scrapers: GET and nothing else, one request per connection.  A
 * request has 8 KiB and ten seconds; of 32 connections at once the oldest makes place for a new
 * one.  No client makes another one wait but while a page is made.
 */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/live/listener.h"

struct vt_http_page {
	const char *path; /* "/metrics" */
	const char *type; /* of its content */
	/* The text now, borrowed until the next call; NULL: there is none. */
	const char *(*text)(void *context, size_t *len);
	void *context;
};

struct vt_http_connection;

struct vt_http {
	struct vt_listener listener;
	struct vt_http_page page;
	struct vt_http_connection *connections;
	size_t nr;
	uint64_t rest_until_ns; /* nobody is taken: the process has no room for more */
};

/* Takes over `listener`. */
void vt_http_init(struct vt_http *http, const struct vt_listener *listener,
		  const struct vt_http_page *page);
/* Answers for so long, or until an interrupt (interrupt.h). */
void vt_http_serve(struct vt_http *http, uint64_t ms);
/* Answers those that are connected, and nobody else. */
void vt_http_finish(struct vt_http *http);
void vt_http_release(struct vt_http *http);

#endif
