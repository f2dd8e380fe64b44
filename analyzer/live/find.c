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

/* That of the process, else of the first of those that it started. */
static char *recording_below(int64_t pid, int depth)
{
	char *found = recording_of(pid);
	struct dirent *entry;
	DIR *processes;

	if (found || depth == 0)
		return found;
	processes = opendir("/proc");
	while (processes && !found && (entry = readdir(processes))) {
		int64_t child;

		if (!vt_numbers_parse(entry->d_name, INT_MAX, &child) &&
		    parent_of(entry->d_name) == pid)
			found = recording_below(child, depth - 1);
	}
	if (processes)
		closedir(processes);
	return found;
}

char *vt_live_find_below(int64_t pid)
{
	return recording_below(pid, MOST_DEPTH);
}

char *vt_live_find(const char *operand, struct vt_diag *diag)
{
	int64_t pid;
	char *found;

	if (!access(operand, F_OK) || vt_numbers_parse(operand, INT_MAX, &pid))
		return vt_xstrdup(operand);
	found = vt_live_find_below(pid);
	if (!found)
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: no process that is being recorded has this id", operand);
	return found;
}
