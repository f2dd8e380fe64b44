/* SPDX-License-Identifier: MIT */
#include "analyzer/base/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/new_file.h"
#include "analyzer/base/recording_file.h"
#include "analyzer/base/util.h"

#define STANDARD_OUTPUT "-"

/* Before the work: what it finds must not be lost behind the exit code of a file. */
static int check_folder(const char *path, struct vt_diag *diag)
{
	char *folder = vt_xasprintf("%.*s.", (int)(vt_util_base_name(path) - path), path);
	int error = access(folder, W_OK) ? errno : 0;

	free(folder);
	if (error)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: cannot write: %s", path,
			    strerror(error));
	return error ? -1 : 0;
}

int vt_output_check(const char *path, int is_forced, struct vt_diag *diag)
{
	if (!strcmp(path, STANDARD_OUTPUT))
		return 0;
	if (vt_recording_file_keep(path, is_forced, diag))
		return -1;
	if (vt_new_file_check(path, is_forced, diag))
		return -1;
	return check_folder(path, diag);
}

static void cannot(const struct vt_output *output, struct vt_diag *diag)
{
	int error = errno ? errno : EIO;

	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: cannot write: %s",
		    strcmp(output->path, STANDARD_OUTPUT) != 0 ? output->path : "standard output",
		    strerror(error));
}

int vt_output_open(struct vt_output *output, const char *path, int is_forced, struct vt_diag *diag)
{
	*output = (struct vt_output){ .file = stdout, .path = path, .is_forced = is_forced };
	if (strcmp(path, STANDARD_OUTPUT) != 0) {
		output->part = vt_new_file_part(path);
		output->file = fopen(output->part, "wxe");
	}
	errno = output->file ? 0 : errno;
	if (output->file)
		return 0;
	cannot(output, diag);
	free(output->part);
	return -1;
}

int vt_output_rewrite(struct vt_output *output, const char *path, struct vt_diag *diag)
{
	*output = (struct vt_output){ .file = fopen(path, "we"), .path = path };
	if (output->file)
		return 0;
	cannot(output, diag);
	return -1;
}

int vt_output_close(struct vt_output *output, int is_failed, struct vt_diag *diag)
{
	int is_bad = fflush(output->file) || ferror(output->file);
	int rc = is_failed ? -1 : 0;

	if (output->file != stdout)
		is_bad |= fclose(output->file) != 0;
	if (!rc && is_bad) {
		cannot(output, diag);
		rc = -1;
	}
	if (is_bad && output->file == stdout)
		clearerr(output->file); /* it was reported here */
	if (output->part && rc)
		vt_new_file_discard(output->part);
	else if (output->part)
		rc = vt_new_file_publish(output->part, output->path, output->is_forced, diag);
	free(output->part);
	return rc;
}
