/* SPDX-License-Identifier: MIT */
#include "analyzer/live/find.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/numbers.h"
#include "analyzer/base/util.h"
#include "analyzer/import/journal_file.h"

#define SUFFIX ".journal"
/* Generations of processes: `vtrace run`, a shell, a launcher, a worker. */
#define MOST_DEPTH 8
#define MOST_NAMED 8

/* The kernel writes a newline in a name as \012. */
static void restore_newlines(char *path)
{
	char *at;

	while ((at = strstr(path, "\\012"))) {
		*at = '\n';
		memmove(at + 1, at + 4, strlen(at + 4) + 1);
	}
}

/* The database to the journal that a process has mapped; NULL: none, or not ours to look at. */
static char *recording_of(int64_t pid)
{
	char *name = vt_xasprintf("/proc/%lld/maps", (long long)pid), *found = NULL, *line = NULL;
	FILE *maps = fopen(name, "re");
	struct vt_journal_header header;
	size_t size = 0;

	free(name);
	while (maps && !found && getline(&line, &size, maps) > 0) {
		char *path = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (path && access(path, F_OK))
			restore_newlines(path);
		/* Other programs have files of this name, too. */
		if (path && vt_util_has_suffix(path, SUFFIX) &&
		    !vt_journal_file_peek(path, &header, NULL))
			found = vt_xasprintf("%.*s.db", (int)(strlen(path) - strlen(SUFFIX)), path);
	}
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

static int64_t parent_of(const char *pid)
{
	char *name = vt_xasprintf("/proc/%s/stat", pid), text[512] = "", *end;
	FILE *file = fopen(name, "re");
	long long parent = 0;

	free(name);
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	/* Behind the program's name, which may have anything in it. */
	end = strrchr(text, ')');
	if (!end || sscanf(end, ") %*c %lld", &parent) != 1)
		return 0;
	return parent;
}

struct recorded {
	int64_t pid;
	char *path; /* of its recording */
};

typedef VT_VECTOR(struct recorded) recorded_vector;

/* A child that was forked has its parent's journal mapped, too. */
static int is_known(const recorded_vector *all, const char *path)
{
	for (size_t i = 0; i < all->len; i++)
		if (!strcmp(all->items[i].path, path))
			return 1;
	return 0;
}

/* The process itself, else those that it started. */
static void collect(int64_t pid, int depth, recorded_vector *all)
{
	char *found = recording_of(pid);
	struct dirent *entry;
	DIR *processes;

	if (found && !is_known(all, found))
		vt_vector_push(all, ((struct recorded){ pid, found }));
	else
		free(found);
	if (found || depth == 0)
		return;
	processes = opendir("/proc");
	while (processes && (entry = readdir(processes))) {
		int64_t child;

		if (!vt_numbers_parse(entry->d_name, INT_MAX, &child) &&
		    parent_of(entry->d_name) == pid)
			collect(child, depth - 1, all);
	}
	if (processes)
		closedir(processes);
}

/* The path of the first. */
static char *take_first(recorded_vector *all)
{
	char *first = all->len ? all->items[0].path : NULL;

	for (size_t i = 1; i < all->len; i++)
		free(all->items[i].path);
	vt_vector_release(all);
	return first;
}

char *vt_live_find_below(int64_t pid)
{
	recorded_vector all = { 0 };

	collect(pid, MOST_DEPTH, &all);
	return take_first(&all);
}

static void refuse_several(const char *operand, const recorded_vector *all, struct vt_diag *diag)
{
	char *list = vt_xstrdup("");

	for (size_t i = 0; i < all->len && i < MOST_NAMED; i++) {
		char *longer = vt_xasprintf("%s%s%lld", list, i ? ", " : "",
					    (long long)all->items[i].pid);

		free(list);
		list = longer;
	}
	vt_diag_set(diag, VT_EXIT_USAGE,
		    "%s: started %zu processes that are being recorded: name one of them"
		    " (%s%s), or the folder of the recordings",
		    operand, all->len, list, all->len > MOST_NAMED ? ", ..." : "");
	free(list);
}

char *vt_live_find(const char *operand, struct vt_diag *diag)
{
	recorded_vector all = { 0 };
	int64_t pid;
	char *found;

	if (!access(operand, F_OK) || vt_numbers_parse(operand, INT_MAX, &pid))
		return vt_xstrdup(operand);
	/* 0 is the ancestor of everything, and no process. */
	if (pid > 0)
		collect(pid, MOST_DEPTH, &all);
	if (all.len > 1) {
		refuse_several(operand, &all, diag);
		free(take_first(&all));
		return NULL;
	}
	found = take_first(&all);
	if (!found)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "process %s is not being recorded", operand);
	return found;
}
