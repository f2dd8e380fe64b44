/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/live/find.h"
#include "analyzer/live/look.h"

#define EVERY_S   2
#define SEARCH_MS 200 /* until there is a recording */

/* Returns 1 once the other end is closed, by vt_watcher_stop or by the end of its process. */
static int wait_for_end(int fd, uint64_t ms)
{
	struct pollfd input = { .fd = fd, .events = POLLIN };
	int rc;

	do
		rc = poll(&input, 1, ms > 86400000 ? 86400000 : (int)ms);
	while (rc < 0 && errno == EINTR);
	return rc != 0;
}

/* Returns the pause after it. */
static uint64_t look_at(struct vt_threshold_watch *watch, const char *path)
{
	uint64_t pause_ms = SEARCH_MS;
	struct vt_look look;

	/* What cannot be read at this moment may be at the next. */
	if (!vt_look_init(&look, path, NULL)) {
		vt_look_close(&look);
		vt_threshold_watch_judge(watch, &look.runs);
		pause_ms = vt_look_pause_ms(&look, EVERY_S);
	}
	vt_look_release(&look);
	return pause_ms;
}

static void run(struct vt_threshold_watch *watch, pid_t parent, int fd)
{
	uint64_t pause_ms = 0;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char *path = NULL;

	/* The streams are the program's, too. */
	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	/* They are the program's: whether it ends is its own affair. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	while (!wait_for_end(fd, pause_ms)) {
		if (!path)
			path = vt_live_find_below(parent);
		pause_ms = path ? look_at(watch, path) : SEARCH_MS;
	}
	vt_threshold_watch_end(watch);
	free(path);
}

int vt_watcher_start(struct vt_watcher *watcher, struct vt_threshold_watch *watch,
		     struct vt_diag *diag)
{
	pid_t parent = getpid();
	int ends[2];

	*watcher = (struct vt_watcher){ 0 };
	if (!watch->thresholds.rules.len)
		return 0;
	if (!pipe2(ends, O_CLOEXEC)) {
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
		close(watcher->fd);
}

void vt_watcher_wait(struct vt_watcher *watcher)
{
	while (watcher->pid && waitpid(watcher->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
