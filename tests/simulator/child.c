/* SPDX-License-Identifier: MIT */
#include "tests/simulator/child.h"

#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const int FATAL[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

static struct {
	char directory[64];
	char path[PATH_MAX];
	pid_t owner;
} g;

void vts_child_check(int is_true, const char *text, const char *file, int line)
{
	if (is_true)
		return;
	fprintf(stderr, "%s:%d: not true: %s\n", file, line, text);
	exit(1);
}

void vts_child_check_rc(CUresult expected, CUresult got, const char *text, const char *file,
			int line)
{
	if (expected == got)
		return;
	fprintf(stderr, "%s:%d: %s returned %d, not %d\n", file, line, text, (int)got,
		(int)expected);
	exit(1);
}

void vts_child_check_equal(uint64_t expected, uint64_t got, const char *text, const char *file,
			   int line)
{
	if (expected == got)
		return;
	fprintf(stderr, "%s:%d: %s is %llu (0x%llx), not %llu (0x%llx)\n", file, line, text,
		(unsigned long long)got, (unsigned long long)got, (unsigned long long)expected,
		(unsigned long long)expected);
	exit(1);
}

static void clear_environment(void)
{
	for (char **entry = environ; *entry;) {
		char name[128];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entry, "="), *entry);
		if (strncmp(name, "VTRACE_", 7) && strncmp(name, "CUDA_", 5))
			entry++;
		else
			unsetenv(name);
	}
}

int vts_child_run(void (*body)(void), ...)
{
	const char *setting;
	va_list settings;
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child < 0)
		return -1;
	if (!child) {
		/* cmocka catches faults; here they are the child's end. */
		for (size_t i = 0; i < sizeof(FATAL) / sizeof(FATAL[0]); i++)
			signal(FATAL[i], SIG_DFL);
		clear_environment();
		va_start(settings, body);
		while ((setting = va_arg(settings, const char *)))
			putenv(strdup(setting));
		va_end(settings);
		body();
		exit(0);
	}
	if (waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

CUcontext vts_child_start(void)
{
	CUcontext context = NULL;

	CHECK_RC(CUDA_SUCCESS, cuInit(0));
	CHECK_RC(CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&context, 0));
	CHECK_RC(CUDA_SUCCESS, cuCtxSetCurrent(context));
	return context;
}

uint64_t vts_child_used(void)
{
	size_t free_bytes, total_bytes;

	CHECK_RC(CUDA_SUCCESS, cuMemGetInfo_v2(&free_bytes, &total_bytes));
	return total_bytes - free_bytes;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status, (void)type, (void)walk;
	return remove(path);
}

/* Children leave through exit() as well: only the process that made the directory removes it. */
static void remove_directory(void)
{
	if (g.owner == getpid())
		nftw(g.directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

const char *vts_child_temporary(const char *name)
{
	if (!g.directory[0]) {
		strcpy(g.directory, "/tmp/vtrace-test-XXXXXX");
		if (!mkdtemp(g.directory))
			return NULL;
		g.owner = getpid();
		atexit(remove_directory);
	}
	snprintf(g.path, sizeof(g.path), "%s/%s", g.directory, name);
	return g.path;
}

char *vts_child_read(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t capacity = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &capacity, '\0', file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}
