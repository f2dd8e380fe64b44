/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CMD_H
#define VT_ANALYZER_CMD_H

/*
 * The table of commands.  A command gets its own arguments (argv[0] is its name), prints its own
 * output and returns the exit code (enum vt_exit; run: the traced program's own).
 */

#define VT_COMMANDS(X)                                                                             \
	X(run, "run a program and record it")                                                      \
	X(report, "where the memory went")                                                         \
	X(html, "the same as one page to look at, offline")                                        \
	X(oom, "why a request failed, and what would have served it")                              \
	X(blocks, "what was live at one moment, with owner and stacks")                            \
	X(explain, "everything known about one block")                                             \
	X(frag, "what fragmentation cost")                                                         \
	X(whatif, "what other allocator settings would have given")                                \
	X(diff, "what changed between two recordings")                                             \
	X(check, "whether a run keeps to a budget")                                                \
	X(leaks, "what a run piles up, and what holds it")                                         \
	X(export, "write recordings as files that other programs open")                            \
	X(import, "turn a memory snapshot of PyTorch into a recording")                            \
	X(estimate, "what a run will need, before there is one")                                   \
	X(info, "what a recording holds, and what it lost")                                        \
	X(collect, "turn a journal into a database (started by the recorder)")

struct vt_command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
};

#define VT_COMMAND_DECLARE(name, summary) int vt_cmd_##name(int argc, char **argv);
VT_COMMANDS(VT_COMMAND_DECLARE)
#undef VT_COMMAND_DECLARE

#endif
