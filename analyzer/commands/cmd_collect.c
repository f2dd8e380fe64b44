/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/import/collect.h"
#include "analyzer/base/diag.h"
#include "analyzer/import/input.h"
#include "analyzer/base/options.h"

enum {
	OPTION_FOREGROUND = 256,
};

static const struct vt_option options[] = {
	{ OPTION_FOREGROUND, "foreground", NULL, "stay in the foreground and say what goes wrong" },
	{ 0, NULL, NULL, NULL },
};

static const struct vt_options_spec spec = {
	.command = "collect",
	.synopsis = "[--foreground] FILE.journal",
	.summary =
		"Turns a journal into a database while the program runs, and ends after it.\n"
		"The recorder starts it; by hand it takes up a journal that was left behind.",
	.options = options,
};

/*
 * The program's descriptors must not live on in us: whoever reads its pipes would wait for our end,
 * not its own.
 */
static int leave_descriptors(void)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		return -1;
	/* close_range came with Linux 5.9. */
	if (syscall(SYS_close_range, 3u, ~0u, 0u)) {
		long most = sysconf(_SC_OPEN_MAX);

		for (int fd = 3; fd < (most > 0 ? most : 1024); fd++)
			close(fd);
	}
	return 0;
}

/*
 * Out of the program's session: its terminal's signals and its end are not ours.  Returns in the
 * child only.
 */
static int detach(void)
{
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (pid > 0)
		_exit(0);
	return setsid() < 0 || leave_descriptors() ? -1 : 0;
}

static int collect(const char *path, struct vt_diag *diag)
{
	struct vt_collect_options collect_options = { .is_following = 1 };
	char *database, *journal;
	int rc;

	vt_input_paths(path, &database, &journal);
	rc = vt_collect_run(journal, database, &collect_options, diag);
	if (rc == VT_COLLECT_BUSY)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: is being collected already", journal);
	free(database);
	free(journal);
	return rc;
}

int vt_cmd_collect(int argc, char **argv)
{
	struct vt_diag diag = { 0 };
	int is_foreground = 0, id;
	sigset_t none;

	while ((id = vt_options_next(&spec, argc, argv)) > 0)
		is_foreground |= id == OPTION_FOREGROUND;
	if (id < 0)
		return vt_options_exit_code(id);
	if (argc - optind != 1)
		return vt_options_wrong(&spec, "needs one journal");
	if (!is_foreground && detach()) {
		vt_diag_set(&diag, VT_EXIT_UNREADABLE, "cannot go to the background: %s",
			    strerror(errno));
		return vt_diag_print(&diag);
	}
	/* Started inside a program we have its mask; interrupts of its terminal are not for us. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (collect(argv[optind], &diag))
		return vt_diag_print(&diag);
	return VT_EXIT_OK;
}
