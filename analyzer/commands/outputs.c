/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/outputs.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/database/db.h"
#include "analyzer/input/input.h"
#include "analyzer/import/journal_file.h"
#include "analyzer/base/util.h"

#define ANY_PROCESS 0 /* no process has this id */

static int is_journal_of(const char *path, uint32_t pid, uint64_t since)
{
	struct vt_journal_header header;

	return !vt_journal_file_peek(path, &header, NULL) &&
	       (pid == ANY_PROCESS || header.pid == pid) &&
	       header.start_realtime_ns >= since;
}

static int is_database_of(const char *path, uint32_t pid, uint64_t since)
{
	struct vt_db *db;
	int is_it;

	if (vt_db_open(&db, path, VT_DB_READ, NULL))
		return 0;
	is_it = (pid == ANY_PROCESS || vt_db_run_get_int(db, "pid", 0) == (int64_t)pid) &&
		(uint64_t)vt_db_run_get_int(db, "start_realtime_ns", 0) >= since;
	vt_db_close(db);
	return is_it;
}

/* A folder of old recordings is not opened one by one. */
static int is_changed_since(const char *path, uint64_t since)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_mtim.tv_sec + 1 >= since / 1000000000;
}

typedef int (*vt_outputs_match_fn)(const char *path, uint32_t pid, uint64_t since);

static char *find_with(const char *folder, const char *suffix, vt_outputs_match_fn is_it,
		       uint32_t pid, uint64_t since)
{
	DIR *directory = opendir(folder);
	char *found = NULL, *journal;
	struct dirent *entry;

	while (directory && !found && (entry = readdir(directory))) {
		char *path = vt_xasprintf("%s/%s", folder, entry->d_name);

		if (vt_util_has_suffix(path, suffix) && is_changed_since(path, since) &&
		    is_it(path, pid, since)) {
			vt_input_paths(path, &found, &journal);
			free(journal);
		}
		free(path);
	}
	if (directory)
		closedir(directory);
	return found;
}

char *vt_outputs_find(const char *folder, uint32_t pid, uint64_t since)
{
	/*
	 * In this order: a journal that goes away in between leaves a database that nobody writes.
	 */
	char *found = find_with(folder, ".journal", is_journal_of, pid, since);

	return found ? found : find_with(folder, ".db", is_database_of, pid, since);
}

char *vt_outputs_find_any(const char *folder, uint64_t since)
{
	return vt_outputs_find(folder, ANY_PROCESS, since);
}
