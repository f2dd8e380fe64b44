/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/util.h"
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
	struct stat status;
	int rc = vt_html_check(diag);

	if (!rc && !lstat(output, &status) &&
	    (!request->is_forced || !S_ISREG(status.st_mode))) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: exists already%s", output,
			    S_ISREG(status.st_mode) ? "; --force replaces it"
						    : ", and is not a regular file");
		rc = -1;
	}
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
	char *part = vt_xasprintf("%s.%d.part", output, (int)getpid());
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
	} else if (!rc && (request->is_forced ? rename(part, output)
					      : vt_util_rename(part, output))) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", output,
			    errno == EEXIST ? "exists already; --force replaces it"
					    : strerror(errno));
		rc = -1;
	}
	if (rc)
		unlink(part);
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
