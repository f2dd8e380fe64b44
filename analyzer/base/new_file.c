/* SPDX-License-Identifier: MIT */
#include "analyzer/base/new_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/util.h"

void vt_new_file_exists(const char *path, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: exists; --force replaces it", path);
}

int vt_new_file_check(const char *path, int is_forced, struct vt_diag *diag)
{
	struct stat status;

	if (lstat(path, &status) || (is_forced && S_ISREG(status.st_mode)))
		return 0;
	if (S_ISREG(status.st_mode))
		vt_new_file_exists(path, diag);
	else
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: exists, and is not a regular file",
			    path);
	return -1;
}

char *vt_new_file_part(const char *path)
{
	return vt_xasprintf("%s.%d.part", path, (int)getpid());
}

int vt_new_file_publish(const char *part, const char *path, int is_forced, struct vt_diag *diag)
{
	if (!(is_forced ? rename(part, path) : vt_util_rename(part, path)))
		return 0;
	if (errno == EEXIST)
		vt_new_file_exists(path, diag);
	else
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
	unlink(part);
	return -1;
}
