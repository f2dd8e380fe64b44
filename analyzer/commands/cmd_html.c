/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/diag.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/html/html.h"

enum { OPTION_FORCE = 256, OPTION_OPEN };

struct wanted {
	const char *output; /* NULL: beside the recording */
	int is_forced;
	int is_opened;
	struct vt_report *report;
	struct vt_report_options *options; /* of the report, which keeps them */
};

static const struct vt_option options[] = {
	{ 'o', "output", "FILE", "write there (default: the recording's name with .html)" },
	{ VT_VIEW_AT, "at", "WHEN",
	  "the moment to look at first: " VT_MOMENTS_WORDS " (default: the failed request, else"
	  " most-allocated)" },
	{ OPTION_FORCE, "force", NULL, "replace a file that exists" },
	{ OPTION_OPEN, "open", NULL, "open the page in a browser" },
	{ VT_VIEW_ALL_FRAMES, "all-frames", NULL,
	  "show frames of PyTorch and Python's library too" },
	{ VT_VIEW_RULES, "rules", "FILE", "name bytes by these rules (default: built in)" },
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "html",
	.synopsis = "[OPTION...] FILE",
	.summary = "Writes one page that shows where the memory of a recorded run went.",
	.options = options,
};

static void begin(struct vt_analysis *analysis, const struct vt_view *view, const void *context)
{
	const struct wanted *wanted = context;

	*wanted->options = (struct vt_report_options){
		.when = "peak",
		.device = VT_WHEN_ALL_DEVICES,
		.top = 20,
		.has_all_frames = view->has_all_frames,
	};
	vt_report_begin(wanted->report, analysis, wanted->options);
}

/* run.db -> run.html; free(). */
static char *default_output(const char *path)
{
	size_t len = strlen(path);

	if (vt_util_has_suffix(path, ".db"))
		len -= strlen(".db");
	while (len > 1 && path[len - 1] == '/')
		len--;
	return vt_xasprintf("%.*s.html", (int)len, path);
}

/* A page of which a part is missing is none: it appears as a whole, or not. */
static int write_page(const struct wanted *wanted, const struct vt_html_options *page,
		      const char *output, struct vt_diag *diag)
{
	char *part = vt_xasprintf("%s.%d.part", output, (int)getpid());
	FILE *out = fopen(part, "wxe");
	int rc = 0, is_bad;

	if (!out) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: cannot be written: %s", output,
			    strerror(errno));
		free(part);
		return -1;
	}
	rc = vt_html_print(wanted->report, page, out, diag);
	is_bad = fflush(out) || ferror(out);
	is_bad |= fclose(out) != 0;
	if (!rc && is_bad)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: cannot be written: %s", output,
			    strerror(errno ? errno : EIO));
	else if (!rc && (wanted->is_forced ? rename(part, output) : vt_util_rename(part, output)))
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", output,
			    errno == EEXIST ? "exists; --force replaces it" : strerror(errno));
	rc = rc || diag->exit_code ? -1 : 0;
	if (rc)
		unlink(part);
	free(part);
	return rc;
}

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *context,
		struct vt_diag *diag)
{
	const struct wanted *wanted = context;
	const struct vt_html_options page = { .path = view->path, .when = view->when };
	char *output = wanted->output ? vt_xstrdup(wanted->output) : default_output(view->path);
	int rc = vt_report_finish(wanted->report, diag);

	(void)analysis;
	if (!rc)
		rc = write_page(wanted, &page, output, diag);
	if (!rc)
		printf("%s\n", output);
	vt_report_release(wanted->report);
	free(output);
	return rc;
}

/* Before anything is read: what takes long should not end with this. */
static int check_output(const struct wanted *wanted, const char *path, struct vt_diag *diag)
{
	char *output = wanted->output ? vt_xstrdup(wanted->output) : default_output(path);
	struct stat status;
	int rc = 0;

	if (!lstat(output, &status) && (!wanted->is_forced || !S_ISREG(status.st_mode))) {
		vt_diag_set(diag, VT_EXIT_USAGE, "%s exists%s", output,
			    S_ISREG(status.st_mode) ? "; --force replaces it"
						    : " and is no regular file");
		rc = -1;
	}
	free(output);
	return rc;
}

static int open_page(const struct wanted *wanted, const char *path)
{
	char *output = wanted->output ? vt_xstrdup(wanted->output) : default_output(path);
	pid_t child = fork();

	if (!child) {
		execlp("xdg-open", "xdg-open", output, (char *)NULL);
		fprintf(stderr, "vtrace: --open: xdg-open: %s\n", strerror(errno));
		_exit(VT_EXIT_UNREADABLE);
	}
	free(output);
	return VT_EXIT_OK;
}

int vt_cmd_html(int argc, char **argv)
{
	struct vt_view view = { .device = VT_WHEN_ALL_DEVICES, .begin = begin };
	struct vt_report report = { 0 };
	struct vt_report_options report_options = { 0 };
	struct wanted wanted = { .report = &report, .options = &report_options };
	struct vt_diag diag = { 0 };
	int id, exit_code;

	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0)
		if (id == 'o')
			wanted.output = optarg;
		else if (id == OPTION_FORCE)
			wanted.is_forced = 1;
		else
			wanted.is_opened = 1;
	if (id < 0)
		return vt_options_exit_code(id);
	if (vt_html_check(&diag) || check_output(&wanted, view.path, &diag))
		return vt_diag_print(&diag);
	exit_code = vt_view_show(&view, show, &wanted);
	if (exit_code == VT_EXIT_OK && wanted.is_opened)
		return open_page(&wanted, view.path);
	return exit_code;
}
