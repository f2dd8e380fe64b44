/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/shared_devices.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/util.h"

#define PREFIX "vtrace-devices."
/* Another one may remove a file between its making and its lock. */
#define MOST_TRIES 16

static const char *folder(void)
{
	const char *name = getenv("TMPDIR");

	return name && *name ? name : P_tmpdir;
}

/* An open file of that name, if it is ours; O_NONBLOCK: it may be anything in a public folder. */
static int open_own(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void remove_left_over(void)
{
	DIR *directory = opendir(folder());
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		int fd = strncmp(entry->d_name, PREFIX, strlen(PREFIX))
				 ? -1
				 : open_own(dirfd(directory), entry->d_name);

		if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
			unlinkat(dirfd(directory), entry->d_name, 0);
		if (fd >= 0)
			close(fd);
	}
	if (directory)
		closedir(directory);
}

/* 1: it was taken for a left-over one before it was locked. */
static int try_to_make(struct vt_shared_devices *shared)
{
	struct stat st;

	shared->path = vt_xasprintf("%s/" PREFIX "XXXXXX", folder());
	shared->fd = mkostemp(shared->path, O_CLOEXEC);
	if (shared->fd < 0) {
		free(shared->path);
		*shared = (struct vt_shared_devices){ NULL, -1 };
		return -1;
	}
	/* Where there are no locks, nobody removes what is left over either. */
	if (flock(shared->fd, LOCK_EX) || fstat(shared->fd, &st) || st.st_nlink)
		return 0;
	vt_shared_devices_remove(shared);
	return 1;
}

int vt_shared_devices_make(struct vt_shared_devices *shared)
{
	int rc = 1;

	remove_left_over();
	for (unsigned int i = 0; i < MOST_TRIES && rc > 0; i++)
		rc = try_to_make(shared);
	return rc ? -1 : 0;
}

void vt_shared_devices_remove(struct vt_shared_devices *shared)
{
	if (!shared->path)
		return;
	unlink(shared->path);
	close(shared->fd);
	free(shared->path);
	*shared = (struct vt_shared_devices){ NULL, -1 };
}
