/* SPDX-License-Identifier: MIT */
#include "simulator/driver_ledger.h"

#include "simulator/driver_device.h"
#include "simulator/driver_profile.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Out of the way of programs that close or reuse the low descriptors. */
#define DESCRIPTOR_FLOOR 400
#define MAX_LINE	 512

static struct {
	int fd;
	dev_t dev;
	ino_t ino;
	int is_off; /* not asked for, or not possible */
	int is_open;
	pid_t pid;
	uint64_t sequence;
	unsigned int nr_threads;
	uint64_t nr_bad_frees;
	uint64_t nr_live;
	uint64_t live_bytes;
	const char *function;
	char path[PATH_MAX];
} g;

static __thread unsigned int thread_number; /* from 1, in order of first entry */

static void expand_path(const char *pattern)
{
	const char *mark = strstr(pattern, "%p");

	if (mark)
		snprintf(g.path, sizeof(g.path), "%.*s%d%s", (int)(mark - pattern), pattern,
			 (int)getpid(), mark + 2);
	else
		snprintf(g.path, sizeof(g.path), "%s", pattern);
}

static int open_file(void)
{
	struct stat status;
	int low = open(g.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (low < 0)
		return -1;
	g.fd = fcntl(low, F_DUPFD_CLOEXEC, DESCRIPTOR_FLOOR);
	if (g.fd < 0)
		g.fd = low;
	else
		close(low);
	if (fstat(g.fd, &status))
		return -1;
	g.dev = status.st_dev;
	g.ino = status.st_ino;
	return 0;
}

/* The program may have closed our descriptor, or given its number to a file of its own. */
static int ensure_descriptor(void)
{
	struct stat status;

	if (!fstat(g.fd, &status) && status.st_dev == g.dev && status.st_ino == g.ino)
		return 0;
	return open_file();
}

__attribute__((format(printf, 1, 2))) static void write_line(const char *format, ...)
{
	char line[MAX_LINE];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len >= MAX_LINE)
		len = MAX_LINE - 1;
	if (ensure_descriptor() || write(g.fd, line, (size_t)len) != len) {
		fprintf(stderr, "vtrace simulator: cannot write the ledger %s\n", g.path);
		g.is_off = 1;
	}
}

void vts_ledger_open(void)
{
	const char *pattern;

	if (g.is_open && g.pid == getpid())
		return;
	pattern = getenv("VTRACE_SIM_LEDGER");
	g.is_open = 1;
	g.pid = getpid();
	g.is_off = !pattern || !*pattern;
	if (g.is_off)
		return;
	expand_path(pattern);
	if (open_file()) {
		fprintf(stderr, "vtrace simulator: cannot open the ledger %s\n", g.path);
		g.is_off = 1;
		return;
	}
	write_line("# vtrace-simulator-ledger 1 profile %s driver %d devices %d\n"
		   "# seq op kind thread pointer size handle device used function\n",
		   vts_profile_get()->name, vts_profile_get()->driver_version, vts_device_count());
}

static void number_thread(void)
{
	if (thread_number)
		return;
	thread_number = ++g.nr_threads;
	write_line("# thread %u tid %ld\n", thread_number, (long)syscall(SYS_gettid));
}

void vts_ledger_set_function(const char *function)
{
	g.function = function;
}

/* Contexts and addresses are no memory; a mapping is counted by its handle. */
static void count(const struct vts_ledger_entry *entry)
{
	if (!strcmp(entry->op, "alloc")) {
		g.nr_live++;
		g.live_bytes += entry->size_bytes;
	}
	if (!strcmp(entry->op, "free") || !strcmp(entry->op, "freed-by-destroy") ||
	    !strcmp(entry->op, "gone")) {
		g.nr_live--;
		g.live_bytes -= entry->size_bytes;
	}
}

void vts_ledger_write(const struct vts_ledger_entry *entry)
{
	const struct vts_device *device = vts_device_at(entry->device);

	vts_ledger_open();
	if (g.is_off)
		return;
	number_thread();
	count(entry);
	write_line("%llu %s %s %u 0x%llx %llu 0x%llx %d %llu %s\n",
		   (unsigned long long)++g.sequence, entry->op, entry->kind, thread_number,
		   (unsigned long long)entry->pointer, (unsigned long long)entry->size_bytes,
		   (unsigned long long)entry->handle, entry->device,
		   device ? (unsigned long long)device->used_bytes : 0ULL, g.function);
}

void vts_ledger_count_bad_free(uint64_t pointer)
{
	vts_ledger_open();
	g.nr_bad_frees++;
	if (!g.is_off)
		write_line("# bad-free 0x%llx %s\n", (unsigned long long)pointer,
			   g.function);
}

/*
 * Destructors of the program may free afterwards; those lines follow the summary.  No mutex: a
 * thread that was killed inside a call must not hang the exit.
 */
__attribute__((destructor)) static void write_summary(void)
{
	if (!g.is_open || g.is_off || g.pid != getpid())
		return;
	write_line("# summary live %llu bytes %llu bad-frees %llu\n",
		   (unsigned long long)g.nr_live, (unsigned long long)g.live_bytes,
		   (unsigned long long)g.nr_bad_frees);
	for (int i = 0; i < vts_device_count(); i++)
		write_line("# summary device %d used %llu peak %llu\n", i,
			   (unsigned long long)vts_device_at(i)->used_bytes,
			   (unsigned long long)vts_device_at(i)->peak_bytes);
}
