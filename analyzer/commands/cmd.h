/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CMD_H
#define VT_ANALYZER_CMD_H

/*
 * The table of commands.  A command gets its own arguments (argv[0] is its name), prints its own
 * output and returns the exit code (enum vt_exit; run: the traced program's own).
 */

#define VT_COMMANDS(X)                                                                             \
	X(run, "run a program and record it")                                                      \
	X(report, "show where the memory went")                                                    \
	X(html, "write the report as one offline HTML page")                                       \
	X(oom, "explain an out-of-memory error and what would have avoided it")                    \
	X(blocks, "list live blocks at one moment, with owners and stacks")                        \
	X(explain, "show everything known about one block")                                        \
	X(frag, "show what fragmentation cost")                                                    \
	X(whatif, "replay with other allocator settings, batch or sizes")                          \
	X(diff, "compare two recordings")                                                          \
	X(check, "check a recording against a budget")                                             \
	X(history, "show the figures of checks over time, and where they jumped")                  \
	X(leaks, "find memory that grows, and what holds it")                                      \
	X(export, "export recordings to formats of other tools")                                   \
	X(import, "convert a memory snapshot of PyTorch to a recording")                           \
	X(estimate, "estimate the memory of a planned run")                                        \
	X(list, "list the recordings of a folder")                                                 \
	X(top, "show memory in use by owner, refreshed periodically")                              \
	X(metrics, "print memory in use as metrics for Prometheus")                                \
	X(snapshot, "save what a running program has recorded so far")                             \
	X(info, "show the contents and losses of a recording")                                     \
	X(collect, "convert a journal to a database (started by the recorder)")                    \
	X(path, "print the path of the recorder, for LD_PRELOAD")                                  \
	X(completion, "print a completion script for a shell")

struct vt_command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
};

#define VT_COMMAND_DECLARE(name, summary) int vt_cmd_##name(int argc, char **argv);
VT_COMMANDS(VT_COMMAND_DECLARE)
#undef VT_COMMAND_DECLARE

#endif
