/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/util.h"
#include "analyzer/input/input.h"
#include "analyzer/input/replace.h"
#include "common/journal_format.h"
#include "common/launchers.h"
#include "common/recorder_options.h"

enum { DATABASE, LOG, LOG_INDEX, JOURNAL };

/* The recorder's own patterns stay as they are: only it knows what they become. */
static int is_pattern(const char *output)
{
	return strchr(output, '%') != NULL;
}

/* Where a pattern stands that is none of the recorder's; NULL: nowhere. */
static const char *find_unknown_pattern(const char *output)
{
#define LETTER(letter, name) letter,
	static const char letters[] = { VT_OUTPUT_PLACEHOLDERS(LETTER) '\0' };
#undef LETTER

	for (const char *at = output; (at = strchr(at, '%')); at += 2)
		if (!at[1] || !strchr(letters, at[1]) || (at[1] == 'q' && at[2] != '{'))
			return at;
	return NULL;
}

static char *folder_of(const char *output)
{
	const char *slash = strrchr(output, '/');

	if (!slash)
		return vt_xstrdup(".");
	return slash == output ? vt_xstrdup("/") : vt_xstrndup(output, (size_t)(slash - output));
}

/* What the recorder's patterns leave as it is. */
static char *escape(const char *path)
{
	char *escaped = vt_xcalloc(2 * strlen(path) + 1, 1), *to = escaped;

	for (; *path; path++) {
		if (*path == '%')
			*to++ = '%';
		*to++ = *path;
	}
	return escaped;
}

static char *make_absolute(const char *output)
{
	char *directory, *escaped, *absolute;

	if (*output == '/' || !(directory = getcwd(NULL, 0)))
		return vt_xstrdup(output);
	escaped = escape(directory);
	absolute = vt_xasprintf("%s/%s", escaped, strncmp(output, "./", 2) ? output : output + 2);
	free(escaped);
	free(directory);
	return absolute;
}

/*
 * By making a file, of `bytes` unless 0: access(2) says yes to root even where none can be made
 * (/proc).  Returns 0 or an errno.
 */
static int probe(const char *folder, off_t bytes)
{
	char *name = vt_xasprintf("%s/.vtrace-XXXXXX", folder);
	struct stat st;
	int error = 0, fd = -1;

	if (stat(folder, &st))
		error = errno;
	else if (!S_ISDIR(st.st_mode))
		error = ENOTDIR;
	else if ((fd = mkostemp(name, O_CLOEXEC)) < 0)
		error = errno;
	if (fd >= 0) {
		unlink(name);
		error = bytes ? posix_fallocate(fd, 0, bytes) : 0;
		close(fd);
	}
	free(name);
	return error;
}

int vt_target_has_room(const struct vt_target *target)
{
	return target->folder && !probe(target->folder, VT_JOURNAL_HEADER_BYTES + VT_CHUNK_BYTES);
}

static const char *value_of(const char *variable)
{
	return getenv(variable);
}

/* As the recorder will: each of several processes that a launcher started has its own name. */
static char *add_rank(const char *output)
{
	struct vt_launcher launcher;
	char *database, *journal, *named;

	vt_launchers_find(&launcher, value_of);
	if (!vt_launchers_is_one_of_many(&launcher))
		return vt_xstrdup(output);
	vt_input_paths(output, &database, &journal);
	named = vt_xasprintf("%.*s.rank%s.db", (int)(strlen(journal) - strlen(".journal")),
			     journal, launcher.rank);
	free(database);
	free(journal);
	return named;
}

/* A fixed name: which files it means. */
static int set_files(struct vt_target *target, const char *output, struct vt_diag *diag)
{
	vt_input_paths(output, &target->files[DATABASE], &target->files[JOURNAL]);
	target->files[LOG] = vt_xasprintf("%s-wal", target->files[DATABASE]);
	target->files[LOG_INDEX] = vt_xasprintf("%s-shm", target->files[DATABASE]);
	/* Too long a name, for one. */
	if (!access(target->files[JOURNAL], F_OK) || errno == ENOENT)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", target->files[JOURNAL], strerror(errno));
	return -1;
}

int vt_target_init(struct vt_target *target, const char *output, struct vt_diag *diag)
{
	const char *unknown;
	char *named;
	int error;

	memset(target, 0, sizeof(*target));
	if (!output || !*output)
		output = "./";
	unknown = find_unknown_pattern(output);
	if (unknown) {
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "%s: unknown placeholder %.2s (%%%% is a percent sign)", output,
			    unknown);
		return -1;
	}
	target->output = make_absolute(output);
	target->folder = folder_of(output);
	if (is_pattern(target->folder)) {
		free(target->folder);
		target->folder = NULL;
		return 0;
	}
	error = probe(target->folder, 0);
	if (error) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: cannot write: %s", target->folder,
			    strerror(error));
		return -1;
	}
	if (is_pattern(output) || output[strlen(output) - 1] == '/')
		return 0;
	named = add_rank(output);
	error = set_files(target, named, diag);
	free(named);
	return error;
}

void vt_target_release(struct vt_target *target)
{
	for (int i = 0; i < VT_TARGET_FILES; i++) {
		free(target->files[i]);
		free(target->aside[i]);
	}
	free(target->output);
	free(target->folder);
	memset(target, 0, sizeof(*target));
}

/* A link that leads nowhere is there: nothing is made through it. */
static int has_name(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

static int is_there(const struct vt_target *target)
{
	return has_name(target->files[DATABASE]) || has_name(target->files[JOURNAL]);
}

/* SQLite finds a log by its database's name: FILE.old-PID-1 has FILE.old-PID-1-wal. */
static char *aside_name(const struct vt_target *target, int file, unsigned number)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", "" };

	return vt_xasprintf("%s.old-%d-%u%s", target->files[file == JOURNAL ? JOURNAL : DATABASE],
			    (int)getpid(), number, suffixes[file]);
}

/*
 * The first number under which nothing was set aside yet: in a container the process id is the
 * same each time, and what a killed run left is a recording.
 */
static unsigned find_free_number(const struct vt_target *target)
{
	for (unsigned number = 1;; number++) {
		int nr_taken = 0;

		for (int i = 0; i < VT_TARGET_FILES; i++) {
			char *aside = aside_name(target, i, number);

			nr_taken += has_name(aside);
			free(aside);
		}
		if (!nr_taken)
			return number;
	}
}

/* Never over a file that came in the meantime. */
static void bring_back(const char *aside, const char *file)
{
	if (vt_util_rename(aside, file))
		fprintf(stderr, "vtrace: moved %s to %s: %s\n", file, aside, strerror(errno));
}

static void forget_aside(struct vt_target *target, int file)
{
	free(target->aside[file]);
	target->aside[file] = NULL;
}

static void bring_all_back(struct vt_target *target)
{
	for (int i = 0; i < VT_TARGET_FILES; i++) {
		if (target->aside[i])
			bring_back(target->aside[i], target->files[i]);
		forget_aside(target, i);
	}
}

static int set_aside(struct vt_target *target, struct vt_diag *diag)
{
	unsigned number = find_free_number(target);

	for (int i = 0; i < VT_TARGET_FILES; i++) {
		char *aside = aside_name(target, i, number);

		if (!vt_util_rename(target->files[i], aside)) {
			target->aside[i] = aside;
			continue;
		}
		free(aside);
		if (errno != ENOENT) {
			vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: cannot replace: %s",
				    target->files[i], strerror(errno));
			bring_all_back(target);
			return -1;
		}
	}
	return 0;
}

int vt_target_reserve(struct vt_target *target, int is_replacing, struct vt_diag *diag)
{
	if (!target->files[DATABASE] || !is_there(target))
		return 0;
	if (vt_replace_check(target->files[DATABASE], target->files[JOURNAL], is_replacing, diag))
		return -1;
	return set_aside(target, diag);
}

void vt_target_settle(struct vt_target *target)
{
	if (!target->files[DATABASE] || !is_there(target)) {
		bring_all_back(target);
		return;
	}
	for (int i = 0; i < VT_TARGET_FILES; i++) {
		if (target->aside[i])
			unlink(target->aside[i]);
		forget_aside(target, i);
	}
}
