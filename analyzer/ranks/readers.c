/* SPDX-License-Identifier: MIT */
#include "analyzer/ranks/readers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/base/progress.h"
#include "analyzer/base/util.h"

#define MOST_READERS 64
/*
 * Bytes of databases that are read at one time, unless one alone is larger: a model takes up to 5
 * times its file (10^6 events: 109 MiB of file, 450 MiB), and all is to fit into 1 GiB.
 */
#define MOST_BYTES (128ull << 20)

struct reader {
	pid_t pid; /* 0: none */
	int fd;
	uint32_t index;
	uint64_t size_bytes;
	struct vt_buffer answer;
};

struct readers {
	const struct vt_readers_work *work;
	uint32_t next, done;
	struct reader readers[MOST_READERS];
	uint32_t nr_places, nr_busy;
	uint64_t busy_bytes;
	struct vt_progress progress;
};

static void write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t written = write(fd, text, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return;
		text += written;
		len -= (size_t)written;
	}
}

/* In the child. */
static void read_one(const struct vt_readers_work *work, const char *file, int fd)
{
	char *text = work->read(file, work->context);

	write_all(fd, text, strlen(text));
	free(text);
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* Returns 0 where no process can be had: one is running, or this one reads it itself. */
static int start(struct readers *all, struct reader *reader)
{
	const char *file = all->work->files[all->next];
	int ends[2];

	if (pipe(ends))
		return 0;
	fflush(NULL);
	reader->pid = fork();
	if (reader->pid == 0) {
		close(ends[0]);
		read_one(all->work, file, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	if (reader->pid < 0) {
		close(ends[0]);
		reader->pid = 0;
		return 0;
	}
	reader->fd = ends[0];
	reader->index = all->next++;
	reader->size_bytes = size_of(file);
	vt_buffer_init(&reader->answer);
	all->busy_bytes += reader->size_bytes;
	all->nr_busy++;
	return 1;
}

static int has_room(const struct readers *all)
{
	return all->next < all->work->nr && all->nr_busy < all->nr_places &&
	       (!all->nr_busy ||
		all->busy_bytes + size_of(all->work->files[all->next]) <= MOST_BYTES);
}

static void start_some(struct readers *all)
{
	for (uint32_t i = 0; i < all->nr_places && has_room(all); i++)
		if (!all->readers[i].pid && !start(all, &all->readers[i]))
			break;
}

/* Everything was said, or the reader is dead. */
static void finish(struct readers *all, struct reader *reader)
{
	const char *file = all->work->files[reader->index];
	char *problem;
	int status = 0;

	close(reader->fd);
	while (waitpid(reader->pid, &status, 0) < 0 && errno == EINTR)
		;
	problem = WIFSIGNALED(status)
			  ? vt_xasprintf("%s: the process reading it was killed by signal %d", file,
					 WTERMSIG(status))
			  : vt_xasprintf("%s: the process reading it failed", file);
	all->work->take(reader->index, reader->answer.data ? reader->answer.data : "",
			reader->answer.len, problem, all->work->context);
	free(problem);
	vt_buffer_release(&reader->answer);
	reader->pid = 0;
	all->busy_bytes -= reader->size_bytes;
	all->nr_busy--;
	all->done++;
}

static void take(struct readers *all, struct reader *reader)
{
	char bytes[16384];
	ssize_t len = read(reader->fd, bytes, sizeof(bytes));

	if (len > 0)
		vt_buffer_append(&reader->answer, bytes, (size_t)len);
	else if (!len || errno != EINTR)
		finish(all, reader);
}

static void wait_for_some(struct readers *all)
{
	struct pollfd fds[MOST_READERS];
	struct reader *of_fd[MOST_READERS];
	nfds_t nr = 0;

	for (uint32_t i = 0; i < all->nr_places; i++)
		if (all->readers[i].pid) {
			of_fd[nr] = &all->readers[i];
			fds[nr++] = (struct pollfd){ .fd = all->readers[i].fd, .events = POLLIN };
		}
	if (poll(fds, nr, -1) < 0)
		return;
	for (nfds_t i = 0; i < nr; i++)
		if (fds[i].revents)
			take(all, of_fd[i]);
}

/* Without a process for it: too many are running. */
static void read_here(struct readers *all)
{
	const struct vt_readers_work *work = all->work;
	uint32_t index = all->next++;
	char *text = work->read(work->files[index], work->context);

	work->take(index, text, strlen(text), "", work->context);
	free(text);
	all->done++;
}

void vt_readers_run(const struct vt_readers_work *work)
{
	struct readers all = { .work = work };
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	all.nr_places = processors < 1		  ? 1 :
			processors > MOST_READERS ? MOST_READERS :
						    (uint32_t)processors;
	vt_progress_init(&all.progress, "reading recordings");
	while (all.done < work->nr) {
		start_some(&all);
		if (all.nr_busy)
			wait_for_some(&all);
		else
			read_here(&all);
		vt_progress_count(&all.progress, all.done, work->nr);
	}
	vt_progress_end(&all.progress);
}
