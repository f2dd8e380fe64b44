/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/util.h"
#include "analyzer/commands/new_file.h"
#include "analyzer/html/html.h"

char *vt_page_output(const struct vt_page_request *request)
{
	size_t len = strlen(request->path);

	if (request->output)
		return vt_xstrdup(request->output);
	if (vt_util_has_suffix(request->path, ".db"))
		len -= strlen(".db");
	while (len > 1 && request->path[len - 1] == '/')
		len--;
	return vt_xasprintf("%.*s.html", (int)len, request->path);
}

int vt_page_check(const struct vt_page_request *request, struct vt_diag *diag)
{
	char *output = vt_page_output(request);
	int rc = vt_html_check(diag) ? -1 : vt_new_file_check(output, request->is_forced, diag);

	free(output);
	return rc;
}

/* A page of which a part is missing is none: it appears as a whole, or not. */
static int print(const struct vt_page_request *request, const char *output, struct vt_diag *diag)
{
	const struct vt_html_options options = {
		.path = request->path,
		.base = request->base,
		.when = request->when,
		.rules = request->rules,
		.run = request->run,
		.has_all_frames = request->has_all_frames,
	};
	char *part = vt_new_file_part(output);
	FILE *out = fopen(part, "wxe");
	int rc = -1, is_bad;

	if (!out) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: cannot be written: %s", output,
			    strerror(errno));
		free(part);
		return -1;
	}
	errno = 0;
	rc = vt_html_print(&options, out, diag);
	is_bad = fflush(out) || ferror(out);
	is_bad |= fclose(out) != 0;
	if (!rc && is_bad) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: cannot be written: %s", output,
			    strerror(errno ? errno : EIO));
		rc = -1;
	}
	if (rc)
		unlink(part);
	else
		rc = vt_new_file_publish(part, output, request->is_forced, diag);
	free(part);
	return rc;
}

int vt_page_write(const struct vt_page_request *request, struct vt_diag *diag)
{
	char *output = vt_page_output(request);
	int rc = print(request, output, diag);

	free(output);
	return rc;
}
