/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/analysis/device_use.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/import/collect.h"
#include "analyzer/database/db.h"
#include "analyzer/base/clock.h"
#include "analyzer/base/diag.h"
#include "analyzer/commands/dynamic_loader.h"
#include "analyzer/base/environment.h"
#include "analyzer/input/input.h"
#include "analyzer/commands/launch.h"
#include "analyzer/base/numbers.h"
#include "analyzer/base/options.h"
#include "analyzer/commands/outputs.h"
#include "analyzer/commands/page.h"
#include "analyzer/base/install_path.h"
#include "analyzer/base/shell.h"
#include "analyzer/commands/simulate.h"
#include "analyzer/commands/target.h"
#include "analyzer/commands/watcher.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "common/keep.h"
#include "common/recorder_options.h"

/* The recorder's options that are numbers. */
enum {
#define NO_TEXT(field, variable, standard, what)
#define NAME(field, variable, standard, most, what) RECORDER_##field,
	VT_RECORDER_OPTIONS(NO_TEXT, NAME)
#undef NAME
};

static const struct recorder_option {
	const char *variable;
	int64_t standard, most;
} recorder_options[] = {
#define ROW(field, variable, standard, most, what) { variable, standard, most },
	VT_RECORDER_OPTIONS(NO_TEXT, ROW)
#undef ROW
#undef NO_TEXT
};

enum {
	OPTION_SIMULATE = 256,
	OPTION_FORCE,
	OPTION_EXIT_WAIT,
	OPTION_STACKS,
	OPTION_PROBE,
	OPTION_OBSERVE,
	OPTION_REDACT,
	OPTION_MAX_JOURNAL,
	OPTION_KEEP,
	OPTION_NO_COLLECT,
	OPTION_HTML,
	OPTION_WARN,
	OPTION_THEN,
};

static const struct vt_option options[] = {
	{ OPTION_SIMULATE, "simulate", "CARD",
	  "run on a simulated GPU: NAME or FILE.ini, then [,memory=24GiB][,count=2]"
	  "[,KEY=VALUE...]; list: print the cards" },
	{ 'o', "output", "FILE", "database to write (VTRACE_OUTPUT); %e %p %h %t %n %r %q{NAME}" },
	{ 'q', "quiet", NULL, "print no closing lines (VTRACE_QUIET)" },
	{ OPTION_FORCE, "force", NULL, "replace an existing FILE" },
	{ OPTION_EXIT_WAIT, "exit-wait", "SECONDS",
	  "seconds to wait for the database at exit (VTRACE_EXIT_WAIT)" },
	{ OPTION_STACKS, "stacks", "N", "native frames kept per stack, 0: none (VTRACE_STACKS)" },
	{ OPTION_PROBE, "probe", "N",
	  "read names from Python objects; 0: never, 2: regardless of cost (VTRACE_PROBE)" },
	{ OPTION_OBSERVE, "observe", "N",
	  "observe operators in the first steps; 0: never (VTRACE_OBSERVE)" },
	{ OPTION_REDACT, "redact", NULL,
	  "store no arguments and no string keys of dictionaries (VTRACE_REDACT=1)" },
	{ OPTION_MAX_JOURNAL, "max-journal", "MIB",
	  "MiB of disk for events not yet in the database; 0: no limit (VTRACE_MAX_JOURNAL)" },
	{ OPTION_KEEP, "keep", "AMOUNT",
	  "maximum disk use (2GiB), or how long details are kept (24h); older events are reduced "
	  "to summaries (VTRACE_KEEP)" },
	{ OPTION_NO_COLLECT, "no-collect", NULL,
	  "leave the journal; the next vtrace command imports it (VTRACE_COLLECT=0)" },
	{ OPTION_HTML, "html", NULL, "also write an HTML page next to the database (vtrace html)" },
	{ OPTION_WARN, "warn", "WHAT",
	  "report when usage reaches WHAT, as vtrace top --warn does; may be repeated" },
	{ OPTION_THEN, "then", "COMMAND", "run COMMAND in a shell when a --warn is reached" },
	{ 0, NULL, NULL, NULL },
};

static const struct vt_options_spec spec = {
	.command = "run",
	.synopsis = "[OPTION...] -- COMMAND [ARGUMENT...]",
	.summary =
		"Runs a program and records its GPU memory. The exit code is the program's,\n128+N "
		"if signal N killed it.",
	.options = options,
	.is_stopping_at_operand = 1,
};

struct run {
	const char *profile; /* --simulate, or NULL */
	const char *output;  /* -o, or NULL */
	int is_quiet, is_forcing, has_page;
	char **command;
	char *path; /* of the command's executable */
	struct vt_target target;
	struct vt_simulate simulate;
	struct vt_threshold_watch watch;
	uint64_t start_realtime_ns;
	uint64_t end_ns; /* of the program, CLOCK_MONOTONIC */
};

/* What an option with a number sets; NULL: it takes none. */
static const struct recorder_option *recorder_option_of(int id)
{
	switch (id) {
	case OPTION_EXIT_WAIT:
		return &recorder_options[RECORDER_exit_wait_s];
	case OPTION_STACKS:
		return &recorder_options[RECORDER_stacks];
	case OPTION_PROBE:
		return &recorder_options[RECORDER_probe];
	case OPTION_OBSERVE:
		return &recorder_options[RECORDER_observe];
	case OPTION_MAX_JOURNAL:
		return &recorder_options[RECORDER_max_journal_mib];
	default:
		return NULL;
	}
}

static int set_number(int id)
{
	const struct recorder_option *option = recorder_option_of(id);
	int64_t number;

	if (!option)
		return 0;
	if (!vt_numbers_parse(optarg, option->most, &number))
		return setenv(option->variable, optarg, 1);
	vt_options_wrong(&spec, "%s: not a number from 0 to %" PRId64, optarg, option->most);
	return -1;
}

static int set_keep(void)
{
	struct vt_keep keep;

	if (!vt_keep_parse(optarg, &keep))
		return setenv("VTRACE_KEEP", optarg, 1);
	vt_options_wrong(&spec, "--keep %s: not " VT_KEEP_EXAMPLES, optarg);
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
		if (set_number(id))
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
		case OPTION_HTML:
			run->has_page = 1;
			break;
		case OPTION_REDACT:
			setenv("VTRACE_REDACT", "1", 1);
			break;
		case OPTION_KEEP:
			if (set_keep())
				return VT_OPTIONS_WRONG;
			break;
		case OPTION_NO_COLLECT:
			setenv("VTRACE_COLLECT", "0", 1);
			break;
		case OPTION_THEN:
			run->watch.command.text = optarg;
			break;
		case OPTION_WARN:
			if (!vt_threshold_watch_add(&run->watch, optarg))
				break;
			vt_options_wrong(&spec, "--warn %s: not " VT_THRESHOLD_RULE_EXAMPLES,
					 optarg);
			return VT_OPTIONS_WRONG;
		}
	}
	return id;
}

static int set_environment(struct run *run, struct vt_diag *diag)
{
	char *library = vt_install_path_own("libvtrace.so"), *name = NULL;
	int rc = -1;

	if (!library) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "libvtrace.so not found next to vtrace");
		goto out;
	}
	name = vt_dynamic_loader_name(library, diag);
	if (!name)
		goto out;
	if (run->profile && (vt_simulate_prepare(&run->simulate, run->profile,
						 run->path ? run->path : run->command[0], diag) ||
			     vt_simulate_set_environment(&run->simulate, diag)))
		goto out;
	/* In front of the simulator: ours must be the first to be asked. */
	vt_environment_prepend("LD_PRELOAD", name);
	setenv("VTRACE_OUTPUT", run->target.output, 1);
	rc = 0;
out:
	free(name);
	free(library);
	return rc;
}

static int find_command(struct run *run, struct vt_diag *diag)
{
	free(run->path);
	run->path = vt_install_path_command(run->command[0]);
	if (run->path)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", run->command[0],
		    errno == ENOENT ? "command not found" : strerror(errno));
	return -1;
}

/* Everything that can be wrong is found before the program starts. */
static int prepare(struct run *run, struct vt_diag *diag)
{
	const char *output = run->output ? run->output : getenv("VTRACE_OUTPUT");

	/* Of a simulated machine's commands the simulator may have its own: nvidia-smi. */
	if (find_command(run, run->profile ? NULL : diag) && !run->profile)
		return -1;
	if (vt_target_init(&run->target, output, diag) || set_environment(run, diag) ||
	    (run->profile && find_command(run, diag)))
		return -1;
	/* Last: it may set files aside.  Names that are taken get a number where none was asked. */
	return run->output ? vt_target_reserve(&run->target, run->is_forcing, diag) : 0;
}

/* In force, as the recorder reads it. */
static int64_t number_in_force(const struct recorder_option *option)
{
	const char *text = getenv(option->variable);
	int64_t number;

	/* Digits only: longer ones than a number has are too many. */
	if (!text || !*text || text[strspn(text, "0123456789")])
		return option->standard;
	if (vt_numbers_parse(text, option->most, &number))
		return option->most;
	return number;
}

/*
 * Brings the recording to its end, bounded: waits for the collector, or does its work where there
 * is none (yet). Returns whether the database is complete.
 */
static int complete(const char *journal, const char *database)
{
	int64_t wait_s = number_in_force(&recorder_options[RECORDER_exit_wait_s]);
	struct vt_collect_options collect_options = { .patience_ns =
							      (uint64_t)wait_s * 1000000000 };

	if (access(journal, F_OK))
		return 1;
	if (!number_in_force(&recorder_options[RECORDER_collect]))
		return 0;
	vt_collect_run(journal, database, &collect_options, NULL);
	return access(journal, F_OK) != 0;
}

static void print_closing_line(struct vt_db *db, const char *path)
{
	uint64_t nr_events = (uint64_t)vt_db_run_get_int(db, "events", 0);
	uint64_t nr_lost = (uint64_t)vt_db_run_get_int(db, "lost_events", 0);
	struct vt_device_use highest = vt_device_use_highest(db);
	char events[VT_UNITS_MAX], lost[VT_UNITS_MAX], bytes[VT_UNITS_MAX];
	char *word;

	fprintf(stderr, "vtrace: %s events, %s lost; ",
		vt_units_count(events, sizeof(events), nr_events),
		vt_units_count(lost, sizeof(lost), nr_lost));
	if (highest.peak_bytes)
		fprintf(stderr, "peak %s on cuda:%d; ",
			vt_units_bytes(bytes, sizeof(bytes), highest.peak_bytes), highest.device);
	word = vt_shell_copy(path);
	fprintf(stderr, "%s\nvtrace: next: vtrace report %s | vtrace html %s\n", word, word, word);
	free(word);
}

/* Only read: opening for writing changes the file's mode. */
static int has_closed_itself(const char *path)
{
	struct vt_db *db = NULL;
	char *ended;
	int has_closed;

	if (vt_db_open(&db, path, VT_DB_READ, NULL))
		return 1;
	ended = vt_db_run_get(db, "ended");
	has_closed = ended && strcmp(ended, "killed") != 0 &&
		     !vt_db_run_get_int(db, "no_exit_handlers", 0);
	free(ended);
	vt_db_close(db);
	return has_closed;
}

/* The recording's own is up to its last event. */
static void set_duration(struct vt_db *db, uint64_t end_ns)
{
	int64_t start_ns = vt_db_run_get_int(db, "start_time_ns", 0);

	if (start_ns <= 0 || (int64_t)end_ns < start_ns)
		return;
	vt_db_run_set_int(db, "duration_ns", (int64_t)end_ns - start_ns);
}

/*
 * The recorder says the closing line in the program's exit handlers.  Where none ran (a signal,
 * _exit) nobody but us says it, and of a signal nobody but us knows.
 */
static void close_recording(const struct run *run, const char *path, int status)
{
	struct vt_db *db = NULL;
	char text[32];

	if (has_closed_itself(path) || vt_db_open(&db, path, VT_DB_WRITE, NULL))
		return;
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "signal %d", WTERMSIG(status));
	else
		snprintf(text, sizeof(text), "exit %d", WEXITSTATUS(status));
	vt_db_run_set(db, "ended", text);
	set_duration(db, run->end_ns);
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
static void say_nothing_was_recorded(const struct run *run, int status)
{
	/* The driver's own, and that of Windows' subsystem for Linux. */
	int has_gpu = !access("/dev/nvidiactl", F_OK) || !access("/dev/nvidia0", F_OK) ||
		      !access("/dev/dxg", F_OK);
	const char *refusal;

	if (run->is_quiet || !vt_target_has_room(&run->target))
		return;
	refusal = vt_dynamic_loader_refusal(run->path);
	if (refusal) {
		fprintf(stderr, "vtrace: %s was not recorded: %s\n", run->command[0], refusal);
		return;
	}
	if (WIFSIGNALED(status)) {
		fprintf(stderr,
			"vtrace: the program was killed by signal %d before it allocated GPU"
			" memory; nothing was recorded%s\n",
			WTERMSIG(status),
			WTERMSIG(status) == SIGKILL ? " (is there enough host memory?)" : "");
		return;
	}
	fprintf(stderr, "vtrace: no GPU memory was allocated; nothing was recorded%s\n",
		run->profile || has_gpu ? ""
					: " (no GPU? try vtrace run --simulate h100-80g -- ...)");
}

/* Whatever becomes of it, the program's exit code is what counts. */
static void write_page(const struct run *run, const char *database)
{
	const struct vt_page_request request = { .path = database, .is_forced = run->is_forcing };
	struct vt_diag diag = { 0 };
	char *output, *word;

	if (vt_page_check(&request, &diag) || vt_page_write(&request, &diag)) {
		vt_diag_print(&diag);
		return;
	}
	output = vt_page_output(&request);
	word = vt_shell_copy(output);
	if (!run->is_quiet)
		fprintf(stderr, "vtrace: page: %s\n", word);
	free(word);
	free(output);
}

/* Under the name by which the program has it open. */
static void look_at_peak(struct vt_watcher *watcher, const char *database)
{
	char *absolute = realpath(database, NULL);

	if (absolute)
		vt_watcher_look_at_peak(watcher, absolute);
	free(absolute);
}

/* Of the program itself. */
static void finish_own(const struct run *run, struct vt_watcher *watcher, const char *path,
		       int status)
{
	char *database, *journal;

	vt_input_paths(path, &database, &journal);
	if (complete(journal, database)) {
		look_at_peak(watcher, database);
		close_recording(run, shorten(database), status);
		if (run->has_page)
			write_page(run, shorten(database));
	} else if (run->has_page && !run->is_quiet) {
		fprintf(stderr, "vtrace: no page: not all events are in the database yet\n");
	}
	free(database);
	free(journal);
}

/* Those that the program started say their closing lines themselves. */
static void finish_others(const struct run *run, struct vt_watcher *watcher, int status)
{
	char *path = vt_outputs_find_any(run->target.folder, run->start_realtime_ns);

	if (path)
		look_at_peak(watcher, path);
	else
		say_nothing_was_recorded(run, status);
	free(path);
}

static void finish(const struct run *run, struct vt_watcher *watcher, pid_t pid, int status)
{
	const char *folder = run->target.folder;
	char *path;

	/* Of folders whose names only the recorder knows, nothing is known. */
	if (!folder)
		return;
	path = vt_outputs_find(folder, (uint32_t)pid, run->start_realtime_ns);
	if (path)
		finish_own(run, watcher, path, status);
	else
		finish_others(run, watcher, status);
	free(path);
}

/* Returns the exit code. */
static int run_and_finish(struct run *run)
{
	struct vt_diag diag = { 0 };
	struct vt_watcher watcher;
	int status = 0, rc;
	pid_t pid;

	rc = vt_watcher_start(&watcher, &run->watch, &diag);
	if (!rc)
		rc = prepare(run, &diag) ||
		     vt_launch_run(run->path, run->command, &pid, &status, &diag);
	/* Before the import, which may take longer than the run. */
	run->end_ns = vt_clock_ns();
	/* Whoever reads what is said: the exit code is the program's. */
	signal(SIGPIPE, SIG_IGN);
	vt_watcher_stop(&watcher);
	if (!rc)
		finish(run, &watcher, pid, status);
	vt_target_settle(&run->target);
	vt_watcher_wait(&watcher);
	if (rc)
		return vt_diag_print(&diag);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int vt_cmd_run(int argc, char **argv)
{
	struct run run = { .is_quiet = number_in_force(&recorder_options[RECORDER_quiet]) != 0 };
	int id = read_options(&run, argc, argv), exit_code;

	if (id < 0)
		return vt_options_exit_code(id);
	if (run.profile && !strcmp(run.profile, "list")) {
		vt_simulate_list(stdout);
		return VT_EXIT_OK;
	}
	if (optind >= argc)
		return vt_options_wrong(&spec, "needs a command");
	if (run.watch.command.text && !run.watch.thresholds.rules.len)
		return vt_options_wrong(&spec, "--then needs a --warn");
	if (run.output && !*run.output)
		return vt_options_wrong(&spec, "-o: empty name");
	run.command = argv + optind;
	run.start_realtime_ns = vt_clock_realtime_ns();
	exit_code = run_and_finish(&run);
	vt_target_release(&run.target);
	vt_simulate_release(&run.simulate);
	vt_threshold_watch_release(&run.watch);
	free(run.path);
	return exit_code;
}
