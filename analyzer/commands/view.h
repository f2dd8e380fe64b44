/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_VIEW_H
#define VT_ANALYZER_VIEW_H

/*
 * What the commands that look at one recording have in common: options, the operand, opening and
 * closing.  A command has VT_VIEW_OPTIONS in its table and asks for its own options only:
 *
 *	struct vt_view view = VT_VIEW_DEFAULT;
 *
 *	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0)
 *		switch (id) { case OPTION_SEGMENTS: ... }
 *	if (id < 0)
 *		return vt_options_exit_code(id);
 *	return vt_view_show(&view, show, &wanted);
 */

#include "analyzer/base/options.h"
#include "analyzer/attribution/moments.h"
#include "analyzer/analysis/analysis.h"

/* Apart from the numbers of a command's own options, which begin at 256. */
enum {
	VT_VIEW_AT = 1024,
	VT_VIEW_DEVICE,
	VT_VIEW_ALL_FRAMES,
	VT_VIEW_RULES,
};

/* Rows for a command's table of options; `standard`: what is looked at without --at. */
#define VT_VIEW_OPTIONS(standard)                                                                  \
	{ VT_VIEW_AT, "at", "WHEN",                                                                \
	  "the moment: " VT_MOMENTS_WORDS " (default: " standard ")" },                            \
	{ VT_VIEW_DEVICE, "device", "N", "only this CUDA device (default: all)" },                 \
	{ VT_VIEW_ALL_FRAMES, "all-frames", NULL,                                                  \
	  "also show frames of PyTorch and the Python standard library" },                         \
	{ VT_VIEW_RULES, "rules", "FILE", "use these attribution rules (default: built-in)" },     \
	{ 'j', "json", NULL, "print JSON" }

/* The rows for commands that play a recording from its beginning to its end. */
#define VT_VIEW_REPLAY_OPTIONS                                                                     \
	{ VT_VIEW_DEVICE, "device", "N", "only this CUDA device (default: all)" },                 \
	{ VT_VIEW_RULES, "rules", "FILE", "use these attribution rules (default: built-in)" },     \
	{ 'j', "json", NULL, "print JSON" }

struct vt_view {
	const char *path;  /* the recording */
	const char *what;  /* the second operand */
	const char *when;  /* moments.h */
	const char *rules; /* NULL: built in */
	int device;        /* VT_WHEN_ALL_DEVICES, or a CUDA ordinal */
	int has_all_frames;
	int is_json;
	int is_markdown; /* set by vt_view_format */
	const char *what_word; /* set by a command that takes a second operand: what that is */
	/* Set by a command that takes other operands as well: whether these are they. */
	const char *(*find_other)(int argc, char **argv);
	int is_without_owners; /* set by a command that asks for no owner, stage or step */
	int is_of_all_owners;  /* set by a command that asks for those of all blocks, and begins */
	/* Set by a command that can begin before there are owners: runs beside finding them. */
	void (*begin)(struct vt_analysis *analysis, const struct vt_view *view, const void *wanted);
};

#define VT_VIEW_DEFAULT { .when = "peak", .device = VT_WHEN_ALL_DEVICES }

/*
 * As vt_options_next, but only for options outside VT_VIEW_OPTIONS.  VT_OPTIONS_END only where
 * there are exactly the operands that the command takes.
 */
int vt_view_next(struct vt_view *view, const struct vt_options_spec *spec, int argc, char **argv);

/* Reads optarg, the argument of --`option`.  0, or VT_OPTIONS_WRONG with the message printed. */
int vt_view_number(const struct vt_options_spec *spec, const char *option, int *number);

/* Takes the format that optarg names: text, markdown or json.  As vt_view_number. */
int vt_view_format(struct vt_view *view, const struct vt_options_spec *spec);

/* Prints what the command is for.  0, or -1 with `diag` filled. */
typedef int (*vt_view_show_fn)(struct vt_analysis *analysis, const struct vt_view *view,
			       const void *wanted, struct vt_diag *diag);

/* Opens the recording and shows it.  Returns the command's exit code. */
int vt_view_show(const struct vt_view *view, vt_view_show_fn show, const void *wanted);

#endif
