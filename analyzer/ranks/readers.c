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

#include "analyzer/base/clock.h"
#include "analyzer/base/util.h"

#define MOST_READERS 64
/*
 * Bytes of databases that are read at one time, unless one alone is larger: a model takes up to 5
 * times its file (10^6 events: 109 MiB of file, 450 MiB), and all is to fit into 1 GiB.
 */
#define MOST_BYTES (128ull << 20)
/* Only what lasts longer shows how far it is. */
#define QUIET_NS 1000000000ull

struct reader {
	pid_t pid; /* 0: none */
	int fd;
	uint32_t index;
	uint64_t size_bytes;
	struct vt_buffer answer;
};

struct readers {
	struct vt_rank *ranks;
	uint32_t nr, next, done;
	const struct vt_rank_options *options;
	struct reader readers[MOST_READERS];
	uint32_t nr_places, nr_busy;
	uint64_t busy_bytes;
	uint64_t start_ns;
	int is_shown;
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
static void read_one(const char *path, const struct vt_rank_options *options, int fd)
{
	struct vt_diag diag = { 0 };
	struct vt_rank rank;
	char *text;

	if (vt_rank_read(&rank, path, options, &diag))
		rank.problem = vt_xstrdup(diag.text);
	text = vt_rank_pack(&rank);
	write_all(fd, text, strlen(text));
	free(text);
	vt_rank_release(&rank);
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* Returns 0 where no process can be had: one is running, or this one reads it itself. */
static int start(struct readers *all, struct reader *reader)
{
	struct vt_rank *rank = &all->ranks[all->next];
	int ends[2];

	if (pipe(ends))
		return 0;
	fflush(NULL);
	reader->pid = fork();
	if (reader->pid == 0) {
		close(ends[0]);
		read_one(rank->file, all->options, ends[1]);
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
	reader->size_bytes = size_of(rank->file);
	vt_buffer_init(&reader->answer);
	all->busy_bytes += reader->size_bytes;
	all->nr_busy++;
	return 1;
}

static int has_room(const struct readers *all)
{
	return all->next < all->nr && all->nr_busy < all->nr_places &&
	       (!all->nr_busy ||
		all->busy_bytes + size_of(all->ranks[all->next].file) <= MOST_BYTES);
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
	struct vt_rank *rank = &all->ranks[reader->index];
	char *file = rank->file;
	int status = 0;

	close(reader->fd);
	while (waitpid(reader->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (vt_rank_unpack(rank, reader->answer.data ? reader->answer.data : "",
			   reader->answer.len))
		rank->problem = WIFSIGNALED(status) ?
					vt_xasprintf("%s: its reader was killed by signal %d", file,
						     WTERMSIG(status)) :
					vt_xasprintf("%s: its reader gave up", file);
	rank->file = file;
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

static void show_progress(struct readers *all)
{
	if (!isatty(STDERR_FILENO) || vt_clock_ns() - all->start_ns < QUIET_NS)
		return;
	all->is_shown = 1;
	fprintf(stderr, "\rvtrace: reading recordings: %u of %u", all->done, all->nr);
}

/* Without a process for it: too many are running. */
static void read_here(struct readers *all)
{
	struct vt_rank *rank = &all->ranks[all->next++];
	struct vt_diag diag = { 0 };
	char *file = rank->file;

	if (vt_rank_read(rank, file, all->options, &diag))
		rank->problem = vt_xstrdup(diag.text);
	free(file);
	all->done++;
}

void vt_readers_run(struct vt_rank *ranks, uint32_t nr, const struct vt_rank_options *options)
{
	struct readers all = { .ranks = ranks, .nr = nr, .options = options };
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	all.nr_places = processors < 1		  ? 1 :
			processors > MOST_READERS ? MOST_READERS :
						    (uint32_t)processors;
	all.start_ns = vt_clock_ns();
	while (all.done < nr) {
		start_some(&all);
		if (all.nr_busy)
			wait_for_some(&all);
		else
			read_here(&all);
		show_progress(&all);
	}
	if (all.is_shown)
		fputs("\r\033[K", stderr);
}
