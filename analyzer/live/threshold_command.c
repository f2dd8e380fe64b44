/* SPDX-License-Identifier: MIT */
#include "analyzer/live/threshold_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child. */
static void run(const char *text, const struct vt_threshold_event *event)
{
	char number[32];
	int null = open("/dev/null", O_RDONLY);

	setenv("VTRACE_WARN", event->rule->text, 1);
	setenv("VTRACE_WARN_FILE", event->rank->file, 1);
	setenv("VTRACE_WARN_LINE", event->line, 1);
	snprintf(number, sizeof(number), "%" PRId64, event->bytes);
	setenv("VTRACE_WARN_BYTES", number, 1);
	snprintf(number, sizeof(number), "%" PRId64, event->rank->pid);
	setenv("VTRACE_WARN_PID", number, 1);
	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	/* What the watcher ignores, its command does not. */
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execl("/bin/sh", "sh", "-c", text, (char *)NULL);
	_exit(127);
}

static int is_running(const struct vt_threshold_command *command,
		      const struct vt_threshold_event *event)
{
	for (size_t i = 0; i < command->running.len; i++)
		if (command->running.items[i].rule == event->rule &&
		    !strcmp(command->running.items[i].file, event->rank->file))
			return 1;
	return 0;
}

char *vt_threshold_command_start(struct vt_threshold_command *command,
				 const struct vt_threshold_event *event)
{
	struct vt_threshold_process process = { .rule = event->rule };

	if (!command->text || !event->is_over)
		return NULL;
	if (is_running(command, event))
		return vt_xasprintf("%s: the --then command is still running", event->rule->text);
	fflush(NULL);
	process.pid = fork();
	if (process.pid == 0)
		run(command->text, event);
	if (process.pid < 0)
		return vt_xasprintf("--then: %s", strerror(errno));
	process.file = vt_xstrdup(event->rank->file);
	vt_vector_push(&command->running, process);
	return NULL;
}

static char *describe(const struct vt_threshold_process *process, int status)
{
	if (WIFSIGNALED(status))
		return vt_xasprintf("%s: the --then command was killed by signal %d",
				    process->rule->text, WTERMSIG(status));
	return vt_xasprintf("%s: the --then command exited with status %d", process->rule->text,
			    WEXITSTATUS(status));
}

char *vt_threshold_command_reap(struct vt_threshold_command *command)
{
	char *problem = NULL;

	for (size_t i = 0; i < command->running.len && !problem;) {
		struct vt_threshold_process process = command->running.items[i];
		int status = 0;
		pid_t ended = waitpid(process.pid, &status, WNOHANG);

		/* No such child: who started us ignores their ends, and the kernel keeps none. */
		if (ended != process.pid && (ended >= 0 || errno != ECHILD)) {
			i++;
			continue;
		}
		if (status)
			problem = describe(&process, status);
		free(process.file);
		command->running.items[i] = command->running.items[--command->running.len];
	}
	return problem;
}

void vt_threshold_command_release(struct vt_threshold_command *command)
{
	for (size_t i = 0; i < command->running.len; i++)
		free(command->running.items[i].file);
	vt_vector_release(&command->running);
}
