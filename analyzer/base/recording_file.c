/* SPDX-License-Identifier: MIT */
#include "analyzer/base/recording_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/base/util.h"
#include "common/journal_format.h"

#define HEAD_BYTES sizeof(VT_RECORDING_FILE_SQLITE)

/* Returns how many bytes were read; 0 where there is no regular file. */
static size_t read_head(const char *path, char head[HEAD_BYTES])
{
	struct stat status;
	FILE *file;
	size_t len;

	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return 0;
	file = fopen(path, "re");
	if (!file)
		return 0;
	len = fread(head, 1, HEAD_BYTES, file);
	fclose(file);
	return len;
}

static int is_sqlite(const char *head, size_t len)
{
	return len == HEAD_BYTES && !memcmp(head, VT_RECORDING_FILE_SQLITE, HEAD_BYTES);
}

int vt_recording_file_is_sqlite(const char *path)
{
	char head[HEAD_BYTES];

	return is_sqlite(head, read_head(path, head));
}

int vt_recording_file_is(const char *path)
{
	const uint64_t journal = VT_JOURNAL_MAGIC;
	char head[HEAD_BYTES];
	size_t len = read_head(path, head);

	return is_sqlite(head, len) ||
	       (len >= sizeof(journal) && !memcmp(head, &journal, sizeof(journal)));
}

int vt_recording_file_keep(const char *path, int is_forced, struct vt_diag *diag)
{
	if (!is_forced || !vt_recording_file_is(path))
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE,
		    "%s: is a recording; this command does not replace one", path);
	return -1;
}

static int leads_to_same(const char *a, const char *b)
{
	struct stat first, second;

	return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

static int is_in_same_folder(const char *a, const char *b)
{
	char *first = vt_xasprintf("%.*s.", (int)(vt_util_base_name(a) - a), a);
	char *second = vt_xasprintf("%.*s.", (int)(vt_util_base_name(b) - b), b);
	int is_same = leads_to_same(first, second);

	free(first);
	free(second);
	return is_same;
}

int vt_recording_file_is_same(const char *a, const char *b)
{
	/* By name first: a collector may make the file at any moment. */
	return (!strcmp(vt_util_base_name(a), vt_util_base_name(b)) && is_in_same_folder(a, b)) ||
	       leads_to_same(a, b);
}
