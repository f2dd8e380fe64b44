/* SPDX-License-Identifier: MIT */
#include "analyzer/live/listener.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "analyzer/base/numbers.h"
#include "analyzer/base/util.h"

#define MOST_WAITING 16

int vt_listener_parse(const char *text, char **address, char **port)
{
	const char *colon = strrchr(text, ':'), *number = colon ? colon + 1 : text;
	size_t len = colon ? (size_t)(colon - text) : 0;
	int64_t parsed;

	if (vt_numbers_parse(number, 65535, &parsed) || (colon && !len))
		return -1;
	if (len && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
		if (!len)
			return -1;
	} else if (len && memchr(text, ':', len)) {
		return -1; /* where does the address end? */
	}
	*address = len ? vt_xstrndup(text, len) : vt_xstrdup(VT_LISTENER_ADDRESS);
	*port = vt_xstrdup(number);
	return 0;
}

/* The socket, or -1 with errno. */
static int open_socket(const struct addrinfo *info)
{
	const int on = 1;
	int error, fd = socket(info->ai_family,
			       info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	/* Connections of a server that has ended just now do not keep the port. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, info->ai_addr, info->ai_addrlen) && !listen(fd, MOST_WAITING))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static char *name_of(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	char host[128], port[16];

	if (getsockname(fd, (struct sockaddr *)&address, &len) ||
	    getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return vt_xstrdup("?");
	return vt_xasprintf(strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

int vt_listener_open(struct vt_listener *listener, const char *address, const char *port,
		     struct vt_diag *diag)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	int error = getaddrinfo(address, port, &hints, &found);

	if (error) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", address, gai_strerror(error));
		return -1;
	}
	/* Of "localhost" one may be of a protocol that the machine does not have. */
	listener->fd = -1;
	for (const struct addrinfo *one = found; one && listener->fd < 0; one = one->ai_next)
		listener->fd = open_socket(one);
	if (listener->fd < 0)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "cannot listen on port %s of %s: %s", port,
			    address, strerror(errno));
	else
		listener->name = name_of(listener->fd);
	freeaddrinfo(found);
	return listener->fd < 0 ? -1 : 0;
}

void vt_listener_close(struct vt_listener *listener)
{
	close(listener->fd);
	free(listener->name);
}
