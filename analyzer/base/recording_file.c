/* SPDX-License-Identifier: MIT */
#include "analyzer/base/recording_file.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/journal_format.h"

int vt_recording_file_is(const char *path)
{
	const uint64_t journal = VT_JOURNAL_MAGIC;
	char head[sizeof(VT_RECORDING_FILE_SQLITE)] = "";
	struct stat status;
	FILE *file;
	size_t len;

	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return 0;
	file = fopen(path, "re");
	if (!file)
		return 0;
	len = fread(head, 1, sizeof(head), file);
	fclose(file);
	return (len == sizeof(head) && !memcmp(head, VT_RECORDING_FILE_SQLITE, sizeof(head))) ||
	       (len >= sizeof(journal) && !memcmp(head, &journal, sizeof(journal)));
}

int vt_recording_file_keep(const char *path, int is_forced, struct vt_diag *diag)
{
	if (!is_forced || !vt_recording_file_is(path))
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: is a recording; --force does not replace it",
		    path);
	return -1;
}

int vt_recording_file_is_same(const char *a, const char *b)
{
	struct stat first, second;

	return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}
