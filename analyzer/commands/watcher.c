/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/live/find.h"
#include "analyzer/live/look.h"

#define EVERY_S   2
#define SEARCH_MS 200 /* until there is a recording */

/* Returns 1 once the program has ended (vt_watcher_stop), or the process that started it. */
static int has_ended(int fd, uint64_t ms)
{
	struct pollfd input = { .fd = fd, .events = POLLIN };
	int rc;

	do
		rc = poll(&input, 1, ms > 86400000 ? 86400000 : (int)ms);
	while (rc < 0 && errno == EINTR);
	return rc != 0;
}

/* What was sent, behind the byte of vt_watcher_stop; free().  NULL: nothing. */
static char *read_path(int fd)
{
	struct vt_buffer text;
	char part[256];
	ssize_t len;
	char *path;

	vt_buffer_init(&text);
	while ((len = read(fd, part, sizeof(part))) > 0 || (len < 0 && errno == EINTR))
		vt_buffer_append(&text, part, len > 0 ? (size_t)len : 0);
	path = text.len > 1 ? vt_xstrdup(text.data + 1) : NULL;
	vt_buffer_release(&text);
	return path;
}

static void look_at_peak(struct vt_threshold_watch *watch, const char *path)
{
	struct vt_look look;

	if (!vt_look_init_at_peak(&look, path, NULL)) {
		vt_look_close(&look);
		vt_threshold_watch_judge_peak(watch, &look.runs);
	}
	vt_look_release(&look);
}

struct watching {
	struct vt_threshold_watch *watch;
	char *path; /* of the recording that is watched; NULL: none is */
	char *done; /* of the last one, whose program has ended */
};

static void move_on(struct watching *watching)
{
	look_at_peak(watching->watch, watching->path);
	free(watching->done);
	watching->done = watching->path;
	watching->path = NULL;
}

/* Returns the pause after it. */
static uint64_t look(struct watching *watching)
{
	uint64_t pause_ms = SEARCH_MS;
	int is_running = 1;
	struct vt_look look;

	/* What cannot be read at this moment may be at the next. */
	if (!vt_look_init(&look, watching->path, NULL)) {
		vt_look_close(&look);
		pause_ms = vt_look_pause_ms(&look, EVERY_S);
		is_running = look.is_running;
		/* What has ended is judged at its peak: what is said then is recorded, too. */
		if (is_running)
			vt_threshold_watch_judge(watching->watch, &look.runs);
	}
	vt_look_release(&look);
	if (is_running)
		return pause_ms;
	/* The program, a script's say, may start another. */
	move_on(watching);
	return SEARCH_MS;
}

static void search(struct watching *watching, pid_t parent)
{
	watching->path = vt_live_find_below(parent);
	/* It is still there while it exits. */
	if (watching->path && watching->done && !strcmp(watching->path, watching->done)) {
		free(watching->path);
		watching->path = NULL;
	}
}

static void finish(struct watching *watching, const char *last)
{
	if (watching->path)
		look_at_peak(watching->watch, watching->path);
	else if (last && (!watching->done || strcmp(watching->done, last) != 0))
		look_at_peak(watching->watch, last);
}

static void run(struct vt_threshold_watch *watch, pid_t parent, int fd)
{
	struct watching watching = { .watch = watch };
	uint64_t pause_ms = 0;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char *last;

	/* The streams are the program's, too. */
	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	/* They are the program's: whether it ends is its own affair. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* Nobody may read what is said: the rest is done all the same. */
	signal(SIGPIPE, SIG_IGN);
	while (!has_ended(fd, pause_ms)) {
		if (!watching.path)
			search(&watching, parent);
		pause_ms = watching.path ? look(&watching) : SEARCH_MS;
	}
	last = read_path(fd);
	if (last)
		finish(&watching, last);
	/* The other end waits for this, but not for the commands that run. */
	close(fd);
	vt_threshold_watch_end(watch);
	free(watching.path);
	free(watching.done);
	free(last);
}

int vt_watcher_start(struct vt_watcher *watcher, struct vt_threshold_watch *watch,
		     struct vt_diag *diag)
{
	pid_t parent = getpid();
	int ends[2];

	*watcher = (struct vt_watcher){ 0 };
	if (!watch->thresholds.rules.len)
		return 0;
	if (!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		watcher->pid = fork();
		if (watcher->pid == 0) {
			close(ends[1]);
			run(watch, parent, ends[0]);
			_exit(0);
		}
		close(ends[0]);
		watcher->fd = ends[1];
		if (watcher->pid > 0)
			return 0;
		close(ends[1]);
	}
	*watcher = (struct vt_watcher){ 0 };
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "--warn: %s", strerror(errno));
	return -1;
}

void vt_watcher_stop(struct vt_watcher *watcher)
{
	if (watcher->pid)
		send(watcher->fd, "", 1, MSG_NOSIGNAL);
}

void vt_watcher_look_at_peak(struct vt_watcher *watcher, const char *path)
{
	char none;

	if (!watcher->pid)
		return;
	send(watcher->fd, path, strlen(path), MSG_NOSIGNAL);
	shutdown(watcher->fd, SHUT_WR);
	while (recv(watcher->fd, &none, 1, 0) < 0 && errno == EINTR)
		;
}

void vt_watcher_wait(struct vt_watcher *watcher)
{
	if (watcher->pid)
		close(watcher->fd);
	while (watcher->pid && waitpid(watcher->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
