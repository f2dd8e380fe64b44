/* SPDX-License-Identifier: MIT */
#include "analyzer/base/process.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/base/hash.h"
#include "common/journal_format.h"

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
	/* The name in parentheses may hold anything: fields are counted after the last one. */
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

	/*
	 * No /proc here, or one that hides others' processes: whoever has the number now is taken
	 * for it.  Of a program that lives nothing must be deleted.
	 */
	if (read_stat(process->pid, &state, &start_ticks))
		return !kill((pid_t)process->pid, 0) || errno == EPERM;
	if (process->start_ticks && start_ticks != process->start_ticks)
		return 0;
	return (state != 'Z' && state != 'X') || has_other_threads(process->pid);
}

/* 0 where it cannot be read. */
static uint32_t own_boot_hash(void)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	char text[64];
	uint32_t hash = 0;

	if (file && fgets(text, sizeof(text), file))
		hash = vt_journal_boot_hash(text);
	if (file)
		fclose(file);
	return hash;
}

static uint32_t own_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint32_t)st.st_ino;
}

static int differs(uint32_t theirs, uint32_t ours)
{
	return theirs && ours && theirs != ours;
}

int vt_process_is_elsewhere(uint32_t boot_hash, uint32_t pid_namespace)
{
	return differs(boot_hash, own_boot_hash()) || differs(pid_namespace, own_pid_namespace());
}

uint32_t vt_process_home(void)
{
	return (uint32_t)vt_hash_mix(own_boot_hash(), own_pid_namespace());
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
