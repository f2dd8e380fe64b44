/* SPDX-License-Identifier: MIT */
/*
 * Kills a process with SIGKILL at a chosen instruction.
 *
 *   killer attach THREAD STOPS STEPS	a running thread, at once
 *   killer run STOPS STEPS COMMAND...	a program from its first instruction on
 *
 * The thread goes on for STOPS entries to and exits from system calls (NUMBER:STOPS: of that one
 * call), then for STEPS single instructions; there its whole process is killed.  Where it stays in
 * a system call for longer than PATIENCE_S it is killed in it.  Prints one line: "killed STOPS
 * OBJECT+OFFSET SYSCALL" (SYSCALL is the last one that was entered, -1 = none), or "ended STOPS"
 * when the program was faster.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 2
#define SYSCALL_STOP (SIGTRAP | 0x80)	/* with PTRACE_O_TRACESYSGOOD */

static struct {
	pid_t thread;
	long stops;		/* met so far */
	long only_call;		/* that counts, -1 = any */
	long last_call;
	int is_gone;
	volatile sig_atomic_t is_late;
} g = { .last_call = -1, .only_call = -1 };

static void be_late(int number)
{
	(void)number;
	g.is_late = 1;
}

/* Waits for the next stop.  Returns the signal it stopped for, -1 if it is gone or late. */
static int next_stop(void)
{
	int status;

	alarm(PATIENCE_S);
	while (waitpid(g.thread, &status, __WALL) < 0) {
		if (errno == EINTR && !g.is_late)
			continue;
		g.is_gone = errno != EINTR;
		return -1;
	}
	alarm(0);
	if (WIFSTOPPED(status))
		return status >> 16 ? 0 : WSTOPSIG(status);
	g.is_gone = 1;
	return -1;
}

/* Lets the thread go on to its next stop of that kind, passing its signals on. */
static int go_on(enum __ptrace_request how)
{
	int wanted = how == PTRACE_SYSCALL ? SYSCALL_STOP : SIGTRAP;
	int number = 0;

	do {
		if (ptrace(how, g.thread, NULL, (void *)(long)number)) {
			g.is_gone = 1;
			return -1;
		}
		number = next_stop();
	} while (number >= 0 && number != wanted);
	return number < 0 ? -1 : 0;
}

static void note_call(void)
{
	struct user_regs_struct registers;

	if (!ptrace(PTRACE_GETREGS, g.thread, NULL, &registers))
		g.last_call = (long)registers.orig_rax;
}

static void walk(long stops, long steps)
{
	while (g.stops < stops && !go_on(PTRACE_SYSCALL)) {
		note_call();
		g.stops += g.only_call < 0 || g.only_call == g.last_call;
	}
	while (!g.is_gone && !g.is_late && steps-- > 0 && !go_on(PTRACE_SINGLESTEP))
		;
}

static void print_place(void)
{
	struct user_regs_struct registers = { 0 };
	unsigned long start, end, offset;
	char path[64], line[512], object[384] = "";
	FILE *maps;

	/* Late: it is in a system call, and only stopped threads can be asked. */
	if (ptrace(PTRACE_GETREGS, g.thread, NULL, &registers)) {
		printf("killed %ld waiting %ld\n", g.stops, g.last_call);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)g.thread);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		object[0] = '\0';
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %383s", &start, &end, &offset,
			   object) < 3)
			continue;
		if (registers.rip >= start && registers.rip < end)
			break;
	}
	if (maps)
		fclose(maps);
	printf("killed %ld %s+%lx %ld\n", g.stops, object[0] ? object : "unknown",
	       (unsigned long)registers.rip - start + offset, g.last_call);
}

static long read_stops(const char *text)
{
	const char *colon = strchr(text, ':');

	if (colon)
		g.only_call = atol(text);
	return atol(colon ? colon + 1 : text);
}

static int attach(pid_t thread)
{
	g.thread = thread;
	if (ptrace(PTRACE_SEIZE, thread, NULL, (void *)PTRACE_O_TRACESYSGOOD) ||
	    ptrace(PTRACE_INTERRUPT, thread, NULL, NULL))
		return -1;
	return next_stop() < 0 ? -1 : 0;
}

static int start(char **command)
{
	g.thread = fork();
	if (!g.thread) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(command[0], command);
		_exit(127);
	}
	return next_stop() < 0 || ptrace(PTRACE_SETOPTIONS, g.thread, NULL,
					 (void *)PTRACE_O_TRACESYSGOOD);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = be_late };
	int is_run = argc > 4 && !strcmp(argv[1], "run");
	int first = is_run ? 2 : 3;

	if (argc < 5) {
		fputs("usage: killer attach THREAD STOPS STEPS | run STOPS STEPS COMMAND\n",
		      stderr);
		return 2;
	}
	sigaction(SIGALRM, &action, NULL);
	if (is_run ? start(argv + 4) : attach(atoi(argv[2]))) {
		puts("ended 0");
		return 0;
	}
	walk(read_stops(argv[first]), atol(argv[first + 1]));
	if (g.is_gone) {
		printf("ended %ld\n", g.stops);
		return 0;
	}
	print_place();
	kill(g.thread, SIGKILL);
	while (waitpid(g.thread, NULL, __WALL) >= 0)
		;
	return 0;
}
