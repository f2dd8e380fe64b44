/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/import/collect.h"
#include "analyzer/database/db.h"
#include "analyzer/base/diag.h"
#include "analyzer/base/environment.h"
#include "analyzer/import/input.h"
#include "analyzer/commands/launch.h"
#include "analyzer/base/numbers.h"
#include "analyzer/base/options.h"
#include "analyzer/commands/outputs.h"
#include "analyzer/base/place.h"
#include "analyzer/commands/simulate.h"
#include "analyzer/commands/target.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"

/* Of the recorder, preload/config.h. */
#define USUAL_EXIT_WAIT_S   10
#define LONGEST_EXIT_WAIT_S 3600
#define MOST_STACKS         512
#define HIGHEST_PROBE       2
#define MOST_JOURNAL_MIB    (1024 * 1024)

enum {
	OPTION_SIMULATE = 256,
	OPTION_FORCE,
	OPTION_EXIT_WAIT,
	OPTION_STACKS,
	OPTION_PROBE,
	OPTION_MAX_JOURNAL,
	OPTION_NO_COLLECT,
};

static const struct vt_option options[] = {
	{ OPTION_SIMULATE, "simulate", "PROFILE",
	  "no GPU needed: h100-80g[,memory=24GiB][,count=2][,driver=12.4][,other=3GiB]" },
	{ 'o', "output", "FILE", "database to write (VTRACE_OUTPUT); %e %p %h %t %n %r %q{NAME}" },
	{ 'q', "quiet", NULL, "no closing lines (VTRACE_QUIET)" },
	{ OPTION_FORCE, "force", NULL, "replace an existing FILE" },
	{ OPTION_EXIT_WAIT, "exit-wait", "SECONDS",
	  "how long the end may wait for the database (VTRACE_EXIT_WAIT)" },
	{ OPTION_STACKS, "stacks", "N", "native frames kept per stack, 0: none (VTRACE_STACKS)" },
	{ OPTION_PROBE, "probe", "N",
	  "names from Python objects, 0: never, 2: at any cost (VTRACE_PROBE)" },
	{ OPTION_MAX_JOURNAL, "max-journal", "MIB",
	  "disk for events that are not in the database yet, 0: no limit (VTRACE_MAX_JOURNAL)" },
	{ OPTION_NO_COLLECT, "no-collect", NULL,
	  "write the database later, by any vtrace command (VTRACE_COLLECT=0)" },
	{ 0, NULL, NULL, NULL },
};

static const struct vt_options_spec spec = {
	.command = "run",
	.synopsis = "[OPTION...] -- COMMAND [ARGUMENT...]",
	.summary =
		"Runs a program and records its GPU memory.  Ends with the program's exit code,\n"
		"128+N where signal N killed it.",
	.options = options,
	.is_stopping_at_operand = 1,
};

struct run {
	const char *profile; /* --simulate, or NULL */
	const char *output;  /* -o, or NULL */
	int is_quiet, is_forcing;
	char **command;
	char *path; /* of the command's executable */
	struct vt_target target;
	struct vt_simulate simulate;
	uint64_t start_realtime_ns;
};

/* The most that an option takes; -1: it takes no number. */
static int64_t most_of(int id)
{
	switch (id) {
	case OPTION_EXIT_WAIT:
		return LONGEST_EXIT_WAIT_S;
	case OPTION_STACKS:
		return MOST_STACKS;
	case OPTION_PROBE:
		return HIGHEST_PROBE;
	case OPTION_MAX_JOURNAL:
		return MOST_JOURNAL_MIB;
	default:
		return -1;
	}
}

static int check_number(int id)
{
	int64_t most = most_of(id), number;

	if (most < 0 || !vt_numbers_parse(optarg, most, &number))
		return 0;
	vt_options_wrong(&spec, "%s: not a number from 0 to %" PRId64, optarg, most);
	return -1;
}

/*
 * Reads the options; the recorder's become its variables.  Returns as vt_options_next at its end.
 */
static int read_options(struct run *run, int argc, char **argv)
{
	int id;

	while ((id = vt_options_next(&spec, argc, argv)) > 0) {
		/* What was meant as their end. */
		if (optarg && !strcmp(optarg, "--")) {
			vt_options_wrong(&spec, "an argument is missing before --");
			return VT_OPTIONS_WRONG;
		}
		if (check_number(id))
			return VT_OPTIONS_WRONG;
		switch (id) {
		case OPTION_SIMULATE:
			run->profile = optarg;
			break;
		case 'o':
			run->output = optarg;
			break;
		case 'q':
			run->is_quiet = 1;
			setenv("VTRACE_QUIET", "1", 1);
			break;
		case OPTION_FORCE:
			run->is_forcing = 1;
			break;
		case OPTION_EXIT_WAIT:
			setenv("VTRACE_EXIT_WAIT", optarg, 1);
			break;
		case OPTION_STACKS:
			setenv("VTRACE_STACKS", optarg, 1);
			break;
		case OPTION_PROBE:
			setenv("VTRACE_PROBE", optarg, 1);
			break;
		case OPTION_MAX_JOURNAL:
			setenv("VTRACE_MAX_JOURNAL", optarg, 1);
			break;
		case OPTION_NO_COLLECT:
			setenv("VTRACE_COLLECT", "0", 1);
			break;
		}
	}
	return id;
}

static int set_environment(struct run *run, struct vt_diag *diag)
{
	char *library = vt_place_own("libvtrace.so");
	int rc = -1;

	if (!library) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "libvtrace.so is not there (looked beside vtrace)");
		goto out;
	}
	if (run->profile) {
		if (vt_simulate_prepare(&run->simulate, run->profile, run->path, diag))
			goto out;
		vt_simulate_set_environment(&run->simulate, run->profile);
	}
	/* In front of the simulator: ours must be the first to be asked. */
	vt_environment_prepend("LD_PRELOAD", library);
	setenv("VTRACE_OUTPUT", run->target.output, 1);
	rc = 0;
out:
	free(library);
	return rc;
}

/* Everything that can be wrong is found before the program starts. */
static int prepare(struct run *run, struct vt_diag *diag)
{
	const char *output = run->output ? run->output : getenv("VTRACE_OUTPUT");

	run->path = vt_place_command(run->command[0]);
	if (!run->path) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", run->command[0],
			    errno == ENOENT ? "no such command" : strerror(errno));
		return -1;
	}
	if (vt_target_init(&run->target, output, diag) || set_environment(run, diag))
		return -1;
	/* Last: it may set files aside.  Names that are taken get a number where none was asked. */
	return run->output ? vt_target_reserve(&run->target, run->is_forcing, diag) : 0;
}

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* As the recorder reads it: what is no number is as if not set. */
static uint64_t exit_wait_ns(void)
{
	const char *wait = getenv("VTRACE_EXIT_WAIT");
	int64_t seconds;

	if (!wait || vt_numbers_parse(wait, LONGEST_EXIT_WAIT_S, &seconds))
		seconds = USUAL_EXIT_WAIT_S;
	return (uint64_t)seconds * 1000000000;
}

/*
 * Brings the recording to its end, bounded: waits for the collector, or does its work where there
 * is none (yet). Returns whether the database is complete.
 */
static int complete(const char *journal, const char *database)
{
	const char *collect = getenv("VTRACE_COLLECT");
	uint64_t end = realtime_ns() + exit_wait_ns();
	struct vt_collect_options collect_options = { 0 };
	struct timespec pause = { 0, 10000000 };

	if (access(journal, F_OK))
		return 1;
	if (collect && !strcmp(collect, "0"))
		return 0;
	while (vt_collect_run(journal, database, &collect_options, NULL) == VT_COLLECT_BUSY &&
	       realtime_ns() < end)
		nanosleep(&pause, NULL);
	return access(journal, F_OK) != 0;
}

static void print_closing_line(struct vt_db *db, const char *path)
{
	uint64_t nr_events = (uint64_t)vt_db_run_get_int(db, "events", 0);
	uint64_t nr_lost = (uint64_t)vt_db_run_get_int(db, "lost_events", 0);
	/* With the context, as the recorder says it. */
	int64_t peak = vt_db_query_int(db,
				       "SELECT used_bytes + ifnull(context_bytes, 0)"
				       " FROM peak LEFT JOIN device ON device = device.id"
				       " ORDER BY used_bytes DESC LIMIT 1",
				       0);
	int64_t device =
		vt_db_query_int(db, "SELECT device FROM peak ORDER BY used_bytes DESC LIMIT 1", 0);
	char events[VT_UNITS_MAX], lost[VT_UNITS_MAX], bytes[VT_UNITS_MAX];

	fprintf(stderr, "vtrace: %s events, %s lost; ",
		vt_units_count(events, sizeof(events), nr_events),
		vt_units_count(lost, sizeof(lost), nr_lost));
	if (peak > 0)
		fprintf(stderr, "peak %s on cuda:%lld; ",
			vt_units_bytes(bytes, sizeof(bytes), (uint64_t)peak), (long long)device);
	fprintf(stderr, "%s\nvtrace: next: vtrace report %s\n", path, path);
}

/* Only read: opening for writing changes the file's mode. */
static int is_end_unknown(const char *path)
{
	struct vt_db *db = NULL;
	char *ended;
	int is_unknown;

	if (vt_db_open(&db, path, VT_DB_READ, NULL))
		return 0;
	ended = vt_db_run_get(db, "ended");
	is_unknown = !ended || !strcmp(ended, "killed");
	free(ended);
	vt_db_close(db);
	return is_unknown;
}

/*
 * The recorder says the closing line in the program's exit handlers.  Where none ran (a signal,
 * _exit) nobody but us knows how the program ended.
 */
static void close_recording(const struct run *run, const char *path, int status)
{
	struct vt_db *db = NULL;
	char text[32];

	if (!is_end_unknown(path) || vt_db_open(&db, path, VT_DB_WRITE, NULL))
		return;
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "signal %d", WTERMSIG(status));
	else
		snprintf(text, sizeof(text), "exit %d", WEXITSTATUS(status));
	vt_db_run_set(db, "ended", text);
	vt_db_make_single_file(db);
	if (!run->is_quiet)
		print_closing_line(db, path);
	vt_db_close(db);
}

/* As the user will type it: relative where it lies below the current directory. */
static const char *shorten(const char *path)
{
	char *directory = getcwd(NULL, 0);
	size_t len = directory ? strlen(directory) : 0;

	if (!strncmp(path, "./", 2))
		path += 2;
	else if (len > 1 && !strncmp(path, directory, len) && path[len] == '/')
		path += len + 1;
	free(directory);
	return path;
}

/* Not where the recorder may have refused to record, which it has said itself. */
static void say_nothing_was_recorded(const struct run *run)
{
	/* The driver's own, and that of Windows' subsystem for Linux. */
	int has_gpu = !access("/dev/nvidiactl", F_OK) || !access("/dev/nvidia0", F_OK) ||
		      !access("/dev/dxg", F_OK);

	if (run->is_quiet || !vt_target_has_room(&run->target) ||
	    vt_outputs_has_any(run->target.folder, run->start_realtime_ns))
		return;
	fprintf(stderr, "vtrace: no GPU memory was allocated, nothing recorded%s\n",
		run->profile || has_gpu
			? ""
			: "; without a GPU: vtrace run --simulate h100-80g -- ...");
}

static void finish(const struct run *run, pid_t pid, int status)
{
	const char *folder = run->target.folder;
	char *database = NULL, *journal = NULL, *path;

	/* Of folders whose names only the recorder knows, nothing is known. */
	if (!folder)
		return;
	path = vt_outputs_find(folder, (uint32_t)pid, run->start_realtime_ns);
	if (path) {
		vt_input_paths(path, &database, &journal);
		if (complete(journal, database))
			close_recording(run, shorten(database), status);
	} else {
		say_nothing_was_recorded(run);
	}
	free(database);
	free(journal);
	free(path);
}

static int is_quiet_by_variable(void)
{
	const char *quiet = getenv("VTRACE_QUIET");
	int64_t number;

	return quiet && !vt_numbers_parse(quiet, INT64_MAX, &number) && number;
}

/* Returns the exit code. */
static int run_and_finish(struct run *run)
{
	struct vt_diag diag = { 0 };
	int status = 0;
	pid_t pid;

	if (prepare(run, &diag) || vt_launch_run(run->path, run->command, &pid, &status, &diag)) {
		vt_target_settle(&run->target);
		return vt_diag_print(&diag);
	}
	finish(run, pid, status);
	vt_target_settle(&run->target);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int vt_cmd_run(int argc, char **argv)
{
	struct run run = { .is_quiet = is_quiet_by_variable() };
	int id = read_options(&run, argc, argv), exit_code;

	if (id < 0)
		return vt_options_exit_code(id);
	if (optind >= argc)
		return vt_options_wrong(&spec, "needs a command");
	if (run.output && !*run.output)
		return vt_options_wrong(&spec, "-o: empty name");
	run.command = argv + optind;
	run.start_realtime_ns = realtime_ns();
	exit_code = run_and_finish(&run);
	vt_target_release(&run.target);
	vt_simulate_release(&run.simulate);
	free(run.path);
	return exit_code;
}
