/* SPDX-License-Identifier: MIT */
#include "analyzer/base/new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/base/process.h"
#include "analyzer/base/util.h"

/* Whose writer cannot be looked up, and which was not written to for so long, is left over. */
#define FOREIGN_LIFE_S 86400

void vt_new_file_exists(const char *path, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: already exists (use --force to overwrite)",
		    path);
}

int vt_new_file_check(const char *path, int is_forced, struct vt_diag *diag)
{
	struct stat status;

	if (lstat(path, &status) || (is_forced && S_ISREG(status.st_mode)))
		return 0;
	if (S_ISREG(status.st_mode))
		vt_new_file_exists(path, diag);
	else
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: already exists and is not a regular file", path);
	return -1;
}

/* What SQLite writes beside a database, and the database. */
static const char *const endings[] = { "", "-journal", "-wal", "-shm" };

static char *part_of(const char *path, uint32_t pid, uint32_t home)
{
	return vt_xasprintf("%s.%" PRIu32 "-%08" PRIx32 ".part", path, pid, home);
}

/* Whether `name` is a part of the file called `base`, or beside one; sets whose it is. */
static int is_part(const char *name, const char *base, uint32_t *pid, uint32_t *home)
{
	size_t len = strlen(base);
	int found = 0;
	char *part;

	if (strncmp(name, base, len) != 0 ||
	    sscanf(name + len, ".%9" SCNu32 "-%8" SCNx32, pid, home) != 2)
		return 0;
	part = part_of(base, *pid, *home);
	len = strlen(part);
	for (size_t i = 0; i < VT_ARRAY_SIZE(endings) && !strncmp(name, part, len); i++)
		found |= !strcmp(name + len, endings[i]);
	free(part);
	return found;
}

static int is_left_over(const struct stat *status, uint32_t pid, uint32_t home)
{
	struct vt_process process;
	int is_alive;

	if (home != vt_process_home())
		return status->st_mtime < time(NULL) - FOREIGN_LIFE_S;
	if (pid == (uint32_t)getpid())
		return 1;
	vt_process_open(&process, pid, 0);
	is_alive = vt_process_is_alive(&process);
	vt_process_close(&process);
	return !is_alive;
}

static void remove_leftovers(const char *path)
{
	const char *base = vt_util_base_name(path);
	char *folder = vt_xstrndup(path, (size_t)(base - path));
	DIR *directory = opendir(folder[0] ? folder : ".");
	struct dirent *entry;
	uint32_t pid, home;
	struct stat status;

	while (directory && (entry = readdir(directory)))
		if (is_part(entry->d_name, base, &pid, &home) &&
		    !fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(status.st_mode) && is_left_over(&status, pid, home))
			unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	free(folder);
}

char *vt_new_file_part(const char *path)
{
	remove_leftovers(path);
	return part_of(path, (uint32_t)getpid(), vt_process_home());
}

void vt_new_file_discard(const char *part)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(endings); i++) {
		char *name = vt_xasprintf("%s%s", part, endings[i]);

		unlink(name);
		free(name);
	}
}

int vt_new_file_publish(const char *part, const char *path, int is_forced, struct vt_diag *diag)
{
	if (!(is_forced ? rename(part, path) : vt_util_rename(part, path)))
		return 0;
	if (errno == EEXIST)
		vt_new_file_exists(path, diag);
	else
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
	vt_new_file_discard(part);
	return -1;
}
