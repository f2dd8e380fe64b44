/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/page.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/output.h"
#include "analyzer/base/util.h"
#include "analyzer/html/html.h"

/* A folder that is named by dots: the page has its real name, in the current folder.  Or NULL. */
static char *named_by_folder(const char *path)
{
	const char *last = strrchr(path, '/');
	char *real, *name;

	last = last ? last + 1 : path;
	if (strcmp(last, ".") != 0 && strcmp(last, "..") != 0)
		return NULL;
	real = realpath(path, NULL);
	if (!real)
		return NULL;
	name = vt_xasprintf("%s.html", real[1] ? strrchr(real, '/') + 1 : "root");
	free(real);
	return name;
}

char *vt_page_output(const struct vt_page_request *request)
{
	size_t len = strlen(request->path);
	char *path, *output;

	if (request->output)
		return vt_xstrdup(request->output);
	if (vt_util_has_suffix(request->path, ".db"))
		len -= strlen(".db");
	while (len > 1 && request->path[len - 1] == '/')
		len--;
	path = vt_xstrndup(request->path, len);
	output = named_by_folder(path);
	if (!output)
		output = vt_xasprintf("%s.html", path);
	free(path);
	return output;
}

int vt_page_check(const struct vt_page_request *request, struct vt_diag *diag)
{
	char *output = vt_page_output(request);
	int rc = vt_html_check(diag);

	if (!rc)
		rc = vt_output_check(output, request->is_forced, diag);
	free(output);
	return rc;
}

static int print(const struct vt_page_request *request, const char *path, struct vt_diag *diag)
{
	const struct vt_html_options options = {
		.path = request->path,
		.base = request->base,
		.when = request->when,
		.rules = request->rules,
		.run = request->run,
		.has_all_frames = request->has_all_frames,
	};
	struct vt_output output;
	int rc = vt_output_open(&output, path, request->is_forced, diag);

	if (rc)
		return rc;
	rc = vt_html_print(&options, output.file, diag);
	return vt_output_close(&output, rc, diag);
}

int vt_page_write(const struct vt_page_request *request, struct vt_diag *diag)
{
	char *output = vt_page_output(request);
	int rc = print(request, output, diag);

	free(output);
	return rc;
}
