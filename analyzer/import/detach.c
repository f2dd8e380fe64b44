/* SPDX-License-Identifier: MIT */
#include "analyzer/import/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Each process keeps its end of the pipe between them here: after the standard streams. */
#define PIPE_FD 3

/*
 * The program's descriptors must not live on in us: whoever reads its pipes would wait for our end,
 * not its own.  Only `pipe_end` stays, as PIPE_FD.
 */
static int leave_descriptors(int pipe_end)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup2(pipe_end, PIPE_FD) < 0)
		return -1;
	/* close_range came with Linux 5.9. */
	if (syscall(SYS_close_range, PIPE_FD + 1u, ~0u, 0u)) {
		long most = sysconf(_SC_OPEN_MAX);

		for (int fd = PIPE_FD + 1; fd < (most > 0 ? most : 1024); fd++)
			close(fd);
	}
	return 0;
}

/* Neither end among the standard streams: where the program has closed those, they are free. */
static int make_pipe(int *ends)
{
	if (pipe(ends))
		return -1;
	for (int i = 0; i < 2; i++)
		if (ends[i] < PIPE_FD && (ends[i] = fcntl(ends[i], F_DUPFD, PIPE_FD)) < 0)
			return -1;
	return 0;
}

/*
 * Ends when the child has let go, or has ended without: until then the program, which started us,
 * knows by us that somebody is coming (at_exit.c of the recorder).
 */
static void exit_when_let_go(int pipe_end)
{
	char byte;

	if (!leave_descriptors(pipe_end))
		while (read(PIPE_FD, &byte, sizeof(byte)) < 0 && errno == EINTR)
			;
	_exit(0);
}

/* Its terminal's signals and its end are not ours, either. */
int vt_detach(void)
{
	int ends[2];
	pid_t pid;

	if (make_pipe(ends))
		return -1;
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid > 0)
		exit_when_let_go(ends[0]);
	return setsid() < 0 || leave_descriptors(ends[1]) ? -1 : 0;
}

void vt_detach_let_go(void)
{
	close(PIPE_FD);
}
