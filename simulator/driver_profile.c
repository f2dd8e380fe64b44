/* SPDX-License-Identifier: MIT */
#include "simulator/driver_profile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PROFILE "h100-80g"

static struct {
	pthread_once_t once;
	struct vt_card_profile profile;
} g = { .once = PTHREAD_ONCE_INIT };

/* The text ends with a NUL.  0, or what went wrong. */
static int read_file(const char *path, char *text, size_t capacity)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;
	size_t len = 0;
	ssize_t got = 0;

	if (fd < 0)
		return errno;
	while (len < capacity && (got = read(fd, text + len, capacity - len)) > 0)
		len += (size_t)got;
	error = got < 0 ? errno : len == capacity ? EFBIG : 0;
	text[error ? 0 : len] = '\0';
	close(fd);
	return error;
}

/* profiles.ini beside this library. */
static void find_table(char *path, size_t size)
{
	Dl_info self;
	const char *slash;

	if (!dladdr((void *)(uintptr_t)vts_profile_get, &self) || !self.dli_fname)
		self.dli_fname = "";
	slash = strrchr(self.dli_fname, '/');
	snprintf(path, size, "%.*sprofiles.ini", slash ? (int)(slash + 1 - self.dli_fname) : 0,
		 self.dli_fname);
}

static int configure(struct vt_card_profile *profile, const char *choice)
{
	static char text[VT_CARD_MAX_FILE_BYTES];
	struct vt_card_error error;
	char head[PATH_MAX], path[PATH_MAX];
	int is_file, problem;
	size_t len = vt_card_profile_split(choice, &is_file);

	snprintf(head, sizeof(head), "%.*s", (int)len, choice);
	if (is_file)
		snprintf(path, sizeof(path), "%s", head);
	else
		find_table(path, sizeof(path));
	problem = read_file(path, text, sizeof(text));
	if (problem) {
		fprintf(stderr, "vtrace simulator: cannot read %s: %s\n", path,
			strerror(problem));
		return -1;
	}
	if (vt_card_profile_read(profile, text, is_file ? NULL : head, &error) ||
	    vt_card_profile_change(profile, choice + len + (choice[len] == ','), &error)) {
		fprintf(stderr, "vtrace simulator: VTRACE_SIM_PROFILE: %s: %s\n", head, error.text);
		return -1;
	}
	return 0;
}

static void load(void)
{
	const char *wanted = getenv("VTRACE_SIM_PROFILE");

	if (!configure(&g.profile, wanted && *wanted ? wanted : DEFAULT_PROFILE))
		return;
	memset(&g.profile, 0, sizeof(g.profile));
	g.profile.driver_version = 13000;
}

const struct vt_card_profile *vts_profile_get(void)
{
	pthread_once(&g.once, load);
	return &g.profile;
}
