/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/commands/launch.h"
#include "analyzer/base/diag.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"
#include "common/nearest.h"
#include "vtrace_commit.h"

#define ROW(name, summary) { #name, summary, vt_cmd_##name },
static const struct vt_command commands[] = { VT_COMMANDS(ROW) };
#undef ROW

static void print_usage(FILE *out)
{
	fputs("usage: vtrace COMMAND [OPTION...] [ARGUMENT...]\n", out);
}

static int print_help(void)
{
	print_usage(stdout);
	puts("\nRecords GPU allocations and shows where the memory went.\n\ncommands:");
	for (size_t i = 0; i < VT_ARRAY_SIZE(commands); i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	puts("\n  vtrace COMMAND --help   options of a command\n"
	     "  vtrace FILE|FOLDER      vtrace report\n"
	     "  vtrace --version        version\n\n"
	     "To record without this command: LD_PRELOAD=/path/to/libvtrace.so PROGRAM");
	return VT_EXIT_OK;
}

/* With the program's own name in front, which stands for `report` where a recording is named. */
static int run_command(int argc, char **argv)
{
	struct vt_nearest nearest;
	const char *meant;

	vt_nearest_init(&nearest, argv[1]);
	for (size_t i = 0; i < VT_ARRAY_SIZE(commands); i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
		vt_nearest_offer(&nearest, commands[i].name, strlen(commands[i].name));
	}
	if (!access(argv[1], F_OK))
		return vt_cmd_report(argc, argv);
	fprintf(stderr, "vtrace: %s: unknown command; ", vt_printable_make(argv[1]));
	/* A file that is not there. */
	meant = strpbrk(argv[1], "./") ? NULL : vt_nearest_meant(&nearest);
	if (meant)
		fprintf(stderr, "did you mean vtrace %s?\n", meant);
	else
		fputs("vtrace --help lists them\n", stderr);
	return VT_EXIT_USAGE;
}

/*
 * Output that did not reach its file is an error, a reader that went away (head) is none of ours.
 */
static int flush_output(int exit_code)
{
	/* An earlier flush may have failed where the last one does not. */
	int has_failed = ferror(stdout);

	has_failed |= fflush(stdout);
	if (has_failed && exit_code == VT_EXIT_OK) {
		perror("vtrace: standard output");
		return VT_EXIT_UNREADABLE;
	}
	return exit_code;
}

/*
 * Tables of a long recording are given back when they are freed.  Left alone, glibc takes the next
 * ones of their size from its heap, which keeps them: a second recording came on top of the first.
 */
#define LARGE_TABLE_BYTES (1 << 20)

int main(int argc, char **argv)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_TABLE_BYTES);
	vt_launch_ignore_file_limit();
	if (argc < 2) {
		print_usage(stderr);
		fputs("vtrace --help lists the commands\n", stderr);
		return VT_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return flush_output(print_help());
	if (!strcmp(argv[1], "--version")) {
		puts("vtrace " VTRACE_VERSION VTRACE_COMMIT);
		return flush_output(VT_EXIT_OK);
	}
	if (argv[1][0] == '-') {
		fprintf(stderr, "vtrace: %s: unknown option\n", vt_printable_make(argv[1]));
		print_usage(stderr);
		return VT_EXIT_USAGE;
	}
	return flush_output(run_command(argc, argv));
}
