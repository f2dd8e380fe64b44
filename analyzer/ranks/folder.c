/* SPDX-License-Identifier: MIT */
#include "analyzer/ranks/folder.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/input/input.h"

/* A database that is there speaks for its journal, too. */
static int is_recording(const char *path)
{
	char *database, *journal;
	struct stat st;
	int is_one;

	if (vt_util_has_suffix(path, ".db"))
		return !stat(path, &st) && S_ISREG(st.st_mode);
	if (!vt_util_has_suffix(path, ".journal"))
		return 0;
	vt_input_paths(path, &database, &journal);
	is_one = access(database, F_OK) != 0;
	free(database);
	free(journal);
	return is_one;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int vt_folder_list(struct vt_folder *folder, const char *path, struct vt_diag *diag)
{
	VT_VECTOR(char *) files = { 0 };
	DIR *directory = opendir(path);
	struct dirent *entry;
	size_t len = strlen(path);

	memset(folder, 0, sizeof(*folder));
	if (!directory) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
		return -1;
	}
	while ((entry = readdir(directory))) {
		char *file = vt_xasprintf("%s%s%s", path, len && path[len - 1] == '/' ? "" : "/",
					  entry->d_name);

		if (is_recording(file))
			vt_vector_push(&files, file);
		else
			free(file);
	}
	closedir(directory);
	vt_vector_sort(&files, compare);
	folder->files = files.items;
	folder->nr = (uint32_t)files.len;
	if (files.len)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no recording in this folder", path);
	return -1;
}

void vt_folder_release(struct vt_folder *folder)
{
	for (uint32_t i = 0; i < folder->nr; i++)
		free(folder->files[i]);
	free(folder->files);
	memset(folder, 0, sizeof(*folder));
}

int vt_folder_is_one(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}
