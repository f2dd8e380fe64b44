/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/base/util.h"

static struct {
	volatile sig_atomic_t child; /* whom to pass signals to */
	struct sigaction file_limit; /* what SIGXFSZ did when we began */
	int is_file_limit_ignored;
} g;

static const int passed_on[] = {
	SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM,
};

/* What the terminal sends goes to the whole group: the program has got it already. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (info->si_code <= 0 && g.child > 0)
		kill((pid_t)g.child, number);
	errno = saved;
}

static void catch_signals(sigset_t *before, struct sigaction *old)
{
	sigset_t blocked;

	struct sigaction action = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };

	/* None may come between our fork and the moment we know whom to pass it to. */
	sigemptyset(&blocked);
	for (size_t i = 0; i < VT_ARRAY_SIZE(passed_on); i++)
		sigaddset(&blocked, passed_on[i]);
	sigprocmask(SIG_BLOCK, &blocked, before);
	for (size_t i = 0; i < VT_ARRAY_SIZE(passed_on); i++)
		sigaction(passed_on[i], &action, &old[i]);
}

/* In the child: what the program would have had without us. Behind it: what we had. */
static void restore_signals(const sigset_t *before, const struct sigaction *old)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(passed_on); i++)
		sigaction(passed_on[i], &old[i], NULL);
	sigprocmask(SIG_SETMASK, before, NULL);
}

void vt_launch_ignore_file_limit(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	g.is_file_limit_ignored = !sigaction(SIGXFSZ, &ignore, &g.file_limit);
}

/* In the child: whom a limit of its files' size kills is the program's own affair. */
static void restore_file_limit(void)
{
	if (g.is_file_limit_ignored)
		sigaction(SIGXFSZ, &g.file_limit, NULL);
}

int vt_launch_run(const char *path, char **argv, pid_t *pid, int *status, struct vt_diag *diag)
{
	struct sigaction old[VT_ARRAY_SIZE(passed_on)];
	sigset_t before;
	int ends[2], error = 0;

	/* Closed by a successful exec; an errno comes through it otherwise. */
	if (pipe2(ends, O_CLOEXEC)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", argv[0], strerror(errno));
		return -1;
	}
	catch_signals(&before, old);
	*pid = fork();
	if (*pid == 0) {
		restore_signals(&before, old);
		restore_file_limit();
		/* Not execv: a script without a first line is the shell's. */
		execvp(path, argv);
		error = errno;
		_exit(write(ends[1], &error, sizeof(error)) == sizeof(error) ? 127 : 126);
	}
	error = *pid < 0 ? errno : 0;
	g.child = *pid;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (*pid > 0 && read(ends[0], &error, sizeof(error)) < 0)
		error = errno;
	close(ends[0]);
	while (*pid > 0 && waitpid(*pid, status, 0) < 0 && errno == EINTR)
		;
	g.child = 0;
	restore_signals(&before, old);
	if (error)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", argv[0], strerror(error));
	return error ? -1 : 0;
}
