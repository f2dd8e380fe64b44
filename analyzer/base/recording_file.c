/* SPDX-License-Identifier: MIT */
#include "analyzer/base/recording_file.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/journal_format.h"

#define SQLITE_MAGIC "SQLite format 3"

int vt_recording_file_is(const char *path)
{
	const uint64_t journal = VT_JOURNAL_MAGIC;
	char head[sizeof(SQLITE_MAGIC)] = "";
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
	return (len == sizeof(head) && !memcmp(head, SQLITE_MAGIC, sizeof(head))) ||
	       (len >= sizeof(journal) && !memcmp(head, &journal, sizeof(journal)));
}

int vt_recording_file_is_same(const char *a, const char *b)
{
	struct stat first, second;

	return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}
