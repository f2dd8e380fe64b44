/* SPDX-License-Identifier: MIT */
#include "analyzer/live/http.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "analyzer/base/clock.h"
#include "analyzer/base/util.h"
#include "analyzer/live/interrupt.h"

#define MOST_CONNECTIONS 32
#define MOST_REQUEST	 8192
#define MOST_TIME_NS	 10000000000ull
#define MS		 1000000
#define REST_NS		 (100 * MS)

enum state {
	READING,
	WRITING,
	LEAVING, /* answered; what the client still sends is thrown away, or it loses the answer */
	CLOSED,
};

struct vt_http_connection {
	int fd;
	enum state state;
	uint64_t end_ns; /* closed then, whatever its state */
	struct vt_buffer request, answer;
	size_t sent;
};

void vt_http_init(struct vt_http *http, const struct vt_listener *listener,
		  const struct vt_http_page *page)
{
	*http = (struct vt_http){ .listener = *listener, .page = *page };
	http->connections = vt_xcalloc(MOST_CONNECTIONS, sizeof(*http->connections));
}

static void close_connection(struct vt_http_connection *connection)
{
	close(connection->fd);
	vt_buffer_release(&connection->request);
	vt_buffer_release(&connection->answer);
	connection->state = CLOSED;
}

/* They stay in the order in which they came. */
static void remove_closed(struct vt_http *http)
{
	size_t kept = 0;

	for (size_t i = 0; i < http->nr; i++)
		if (http->connections[i].state != CLOSED)
			http->connections[kept++] = http->connections[i];
	http->nr = kept;
}

void vt_http_release(struct vt_http *http)
{
	for (size_t i = 0; i < http->nr; i++)
		close_connection(&http->connections[i]);
	free(http->connections);
	vt_listener_close(&http->listener);
}

static void answer(struct vt_http_connection *connection, const char *status, const char *type,
		   const char *text, size_t len)
{
	vt_buffer_printf(&connection->answer,
			 "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			 "%sConnection: close\r\n\r\n",
			 status, type, len, strncmp(status, "405", 3) ? "" : "Allow: GET\r\n");
	vt_buffer_append(&connection->answer, text, len);
	connection->state = WRITING;
}

static void refuse(struct vt_http_connection *connection, const char *status)
{
	char *text = vt_xasprintf("%s\n", status);

	answer(connection, status, "text/plain; charset=utf-8", text, strlen(text));
	free(text);
}

static void answer_page(struct vt_http *http, struct vt_http_connection *connection)
{
	uint64_t start = vt_clock_ns();
	size_t len = 0;
	const char *text = http->page.text(http->page.context, &len);

	/* Nobody's time runs while it is made. */
	for (size_t i = 0; i < http->nr; i++)
		http->connections[i].end_ns += vt_clock_ns() - start;
	if (text)
		answer(connection, "200 OK", http->page.type, text, len);
	else
		refuse(connection, "503 Service Unavailable");
}

/*
 * Whether a request to this machine's own address names it: by a number, or as localhost.  A page
 * in a browser here could otherwise have its name lead to us, and read what we answer.
 */
static int is_host_ours(const struct vt_http *http, const char *request)
{
	const char *host = strcasestr(request, "\nHost:");
	size_t len;

	if (strncmp(http->listener.name, "127.", 4) != 0 &&
	    strncmp(http->listener.name, "[::1]", 5) != 0)
		return 1;
	if (!host)
		return 1;
	host += strlen("\nHost:");
	host += strspn(host, " \t");
	len = strcspn(host, "\r\n");
	if (*host == '[')
		return 1;
	if (memchr(host, ':', len))
		len = strcspn(host, ":");
	return strspn(host, "0123456789.") == len ||
	       (len == strlen("localhost") && !strncasecmp(host, "localhost", len));
}

/* "GET /metrics?query HTTP/1.1": a scraper may have been given a query. */
static void answer_request(struct vt_http *http, struct vt_http_connection *connection)
{
	char *line = connection->request.data, *path, *version;
	size_t len;
	int is_ours = is_host_ours(http, line);

	line[strcspn(line, "\r\n")] = '\0';
	path = strchr(line, ' ');
	version = path ? strchr(path + 1, ' ') : NULL;
	if (!version || strncmp(version + 1, "HTTP/1.", 7) != 0) {
		refuse(connection, "400 Bad Request");
		return;
	}
	if (!is_ours) {
		refuse(connection, "421 Misdirected Request");
		return;
	}
	len = strcspn(++path, "? ");
	if (strlen(http->page.path) != len || strncmp(path, http->page.path, len) != 0)
		refuse(connection, "404 Not Found");
	else if (strncmp(line, "GET ", 4) != 0)
		refuse(connection, "405 Method Not Allowed");
	else
		answer_page(http, connection);
}

static int has_failed(ssize_t rc)
{
	return rc < 0 && errno != EAGAIN && errno != EINTR;
}

static void read_request(struct vt_http *http, struct vt_http_connection *connection)
{
	char bytes[MOST_REQUEST];
	ssize_t rc = recv(connection->fd, bytes, sizeof(bytes), 0);

	if (rc == 0 || has_failed(rc))
		connection->state = CLOSED;
	if (rc <= 0 || connection->state != READING)
		return;
	vt_buffer_append(&connection->request, bytes, (size_t)rc);
	if (memchr(connection->request.data, '\0', connection->request.len))
		refuse(connection, "400 Bad Request");
	else if (strstr(connection->request.data, "\r\n\r\n") ||
		 strstr(connection->request.data, "\n\n"))
		answer_request(http, connection);
	else if (connection->request.len > MOST_REQUEST)
		refuse(connection, "431 Request Header Fields Too Large");
}

static void throw_away(struct vt_http_connection *connection)
{
	char bytes[MOST_REQUEST];
	ssize_t rc = recv(connection->fd, bytes, sizeof(bytes), 0);

	if (rc == 0 || has_failed(rc))
		connection->state = CLOSED;
}

static void write_answer(struct vt_http_connection *connection)
{
	ssize_t rc = send(connection->fd, connection->answer.data + connection->sent,
			  connection->answer.len - connection->sent, MSG_NOSIGNAL);

	if (has_failed(rc))
		connection->state = CLOSED;
	else if (rc > 0)
		connection->sent += (size_t)rc;
	if (connection->state == WRITING && connection->sent == connection->answer.len) {
		shutdown(connection->fd, SHUT_WR);
		connection->state = LEAVING;
	}
}

static void work(struct vt_http *http, struct vt_http_connection *connection)
{
	if (connection->state == LEAVING)
		throw_away(connection);
	else if (connection->state == READING)
		read_request(http, connection);
	if (connection->state == WRITING)
		write_answer(connection);
	if (connection->state == CLOSED)
		close_connection(connection);
}

static void take_client(struct vt_http *http)
{
	int fd = accept4(http->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		/* No descriptors, or no memory: they wait, and asking again at once is in vain. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			http->rest_until_ns = vt_clock_ns() + REST_NS;
		return;
	}
	if (http->nr == MOST_CONNECTIONS) {
		close_connection(&http->connections[0]);
		remove_closed(http);
	}
	http->connections[http->nr++] = (struct vt_http_connection){
		.fd = fd, .end_ns = vt_clock_ns() + MOST_TIME_NS
	};
}

/* Until something happens, somebody's time is over, or `end_ns`. */
static void wait_for_any(struct vt_http *http, struct pollfd *polled, int is_open, uint64_t end_ns)
{
	uint64_t now = vt_clock_ns();

	if (is_open && now < http->rest_until_ns) {
		is_open = 0;
		end_ns = http->rest_until_ns < end_ns ? http->rest_until_ns : end_ns;
	}
	polled[0] = (struct pollfd){ .fd = vt_interrupt_fd(), .events = POLLIN };
	polled[1] = (struct pollfd){ .fd = is_open ? http->listener.fd : -1, .events = POLLIN };
	for (size_t i = 0; i < http->nr; i++) {
		struct vt_http_connection *connection = &http->connections[i];

		polled[2 + i] = (struct pollfd){
			.fd = connection->fd,
			.events = connection->state == WRITING ? POLLOUT : POLLIN,
		};
		if (connection->end_ns < end_ns)
			end_ns = connection->end_ns;
	}
	if (poll(polled, 2 + http->nr, end_ns > now ? (int)((end_ns - now) / MS + 1) : 0) < 0)
		for (size_t i = 0; i < 2 + http->nr; i++)
			polled[i].revents = 0;
}

static void serve_once(struct vt_http *http, int is_open, uint64_t end_ns)
{
	struct pollfd polled[2 + MOST_CONNECTIONS];

	wait_for_any(http, polled, is_open, end_ns);
	for (size_t i = 0; i < http->nr; i++) {
		if (polled[2 + i].revents)
			work(http, &http->connections[i]);
		if (http->connections[i].state != CLOSED &&
		    vt_clock_ns() >= http->connections[i].end_ns)
			close_connection(&http->connections[i]);
	}
	remove_closed(http);
	if (polled[1].revents)
		take_client(http);
}

void vt_http_serve(struct vt_http *http, uint64_t ms)
{
	uint64_t end_ns = vt_clock_ns() + ms * MS;

	do
		serve_once(http, 1, end_ns);
	while (!vt_interrupt_came() && vt_clock_ns() < end_ns);
}

void vt_http_finish(struct vt_http *http)
{
	while (http->nr && !vt_interrupt_came())
		serve_once(http, 0, UINT64_MAX);
}
