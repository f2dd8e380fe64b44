/* SPDX-License-Identifier: MIT */
#include "analyzer/base/process.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* State letter and start time of a process; -1 if there is none. */
static int read_stat(uint32_t pid, char *state, uint64_t *start_ticks)
{
	char path[32], text[1024], *at;
	FILE *file;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return -1;
	len = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[len] = '\0';
	/* The name in parentheses may hold anything: fields are counted behind the last one. */
	at = strrchr(text, ')');
	if (!at || at[1] != ' ')
		return -1;
	*state = at[2];
	for (int field = 2; field < 22 && at; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return -1;
	*start_ticks = strtoull(at + 1, NULL, 10);
	return 0;
}

/* A main thread that has ended looks like a dead process while other threads go on. */
static int has_other_threads(uint32_t pid)
{
	char path[32];
	int count = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	directory = opendir(path);
	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count > 3; /* ".", ".." and the main thread */
}

static int is_listed(const struct vt_process *process)
{
	uint64_t start_ticks;
	char state;

	if (read_stat(process->pid, &state, &start_ticks))
		return 0;
	if (process->start_ticks && start_ticks != process->start_ticks)
		return 0;
	return (state != 'Z' && state != 'X') || has_other_threads(process->pid);
}

void vt_process_open(struct vt_process *process, uint32_t pid, uint64_t start_ticks)
{
	process->pid = pid;
	process->start_ticks = start_ticks;
	process->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* Whose descriptor is it?  Looked at after it was opened, so that the answer stays true. */
	if (process->fd >= 0 && !is_listed(process)) {
		close(process->fd);
		process->fd = -1;
	}
}

void vt_process_close(struct vt_process *process)
{
	if (process->fd >= 0)
		close(process->fd);
	process->fd = -1;
}

/* Readable: the whole process has ended. */
static int poll_end(const struct vt_process *process, int timeout_ms)
{
	struct pollfd pollfd = { .fd = process->fd, .events = POLLIN };
	int rc;

	do
		rc = poll(&pollfd, 1, timeout_ms);
	while (rc < 0 && errno == EINTR);
	return rc > 0;
}

int vt_process_is_alive(struct vt_process *process)
{
	return process->fd >= 0 ? !poll_end(process, 0) : is_listed(process);
}

void vt_process_wait(struct vt_process *process, unsigned int timeout_ms)
{
	struct timespec pause = { timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000 };

	if (process->fd >= 0)
		poll_end(process, (int)timeout_ms);
	else
		nanosleep(&pause, NULL);
}
