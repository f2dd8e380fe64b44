/* SPDX-License-Identifier: MIT */
/*
 * In place of `vtrace`: `collect JOURNAL` writes down how it was started (JOURNAL.started) and
 * plays an importer that is done as soon as the program's exit handlers run.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/journal_format.h"
#include "tests/preload/collector.h"

static void write_start(int argc, char **argv, pid_t program)
{
	char name[4096];
	sigset_t mask;
	FILE *file;

	snprintf(name, sizeof(name), "%s.started", argv[2]);
	file = fopen(name, "w");
	sigprocmask(SIG_SETMASK, NULL, &mask);
	fprintf(file, "%d %s %d %d %s %s\n", argc, argv[1], getsid(0) != getsid(program),
		sigismember(&mask, SIGTERM), getenv("LD_PRELOAD") ? "preloaded" : "alone",
		getenv("VTRACE_OUTPUT") ? "configured" : "bare");
	fclose(file);
}

int main(int argc, char **argv)
{
	struct vt_journal_header *header;
	int fd;

	if (argc != 3)
		return 2;
	fd = open(argv[2], O_RDWR);
	header = mmap(NULL, VT_JOURNAL_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || header == MAP_FAILED)
		return 3;
	write_start(argc, argv, (pid_t)header->pid);
	__atomic_store_n(&header->importer_pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
	/*
	 * The program's end makes this one end too: the test's time limit is the only other bound.
	 */
	while (__atomic_load_n(&header->state, __ATOMIC_ACQUIRE) == VT_JOURNAL_RECORDING &&
	       kill((pid_t)header->pid, 0) == 0)
		usleep(1000);
	header->peak_bytes = COLLECTOR_PEAK_BYTES;
	header->peak_slots = header->head_slots;
	header->peak_device = 1;
	__atomic_store_n(&header->imported_slots, header->head_slots, __ATOMIC_RELEASE);
	return 0;
}
