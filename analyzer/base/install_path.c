/* SPDX-License-Identifier: MIT */
#include "analyzer/base/install_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/util.h"

/*
 * Seen from the folder of the program: the build tree, then PREFIX/bin with PREFIX/LIBDIR/vtrace.
 */
static const char *const places[] = { "", "../lib/vtrace/", "../" VTRACE_LIBDIR "/vtrace/" };

char *vt_install_path_own(const char *name)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (len < 0)
		return NULL;
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	slash[1] = '\0';
	for (size_t i = 0; i < VT_ARRAY_SIZE(places); i++) {
		char *path = vt_xasprintf("%s%s%s", self, places[i], name);
		char *real = realpath(path, NULL);

		free(path);
		if (real)
			return real;
	}
	return NULL;
}

static int is_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return 0;
	if (S_ISDIR(st.st_mode) || access(path, X_OK)) {
		errno = EACCES;
		return 0;
	}
	return 1;
}

/* One folder of PATH; an empty one means the current folder. */
static char *join(const char *folder, size_t len, const char *name)
{
	return len ? vt_xasprintf("%.*s/%s", (int)len, folder, name) : vt_xasprintf("./%s", name);
}

char *vt_install_path_command(const char *command)
{
	const char *path = getenv("PATH");
	int error = ENOENT;

	if (strchr(command, '/'))
		return is_executable(command) ? vt_xstrdup(command) : NULL;
	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	while (*command) {
		size_t len = strcspn(path, ":");
		char *candidate = join(path, len, command);

		if (is_executable(candidate))
			return candidate;
		if (errno == EACCES)
			error = EACCES;
		free(candidate);
		if (!path[len])
			break;
		path += len + 1;
	}
	errno = error;
	return NULL;
}

static int is_python_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "python", 6);
}

/* The interpreter of "#!/path/python -x" or "#!/usr/bin/env -S python3 -x". */
static char *interpreter_of(char *line)
{
	char *save, *word = strtok_r(line, " \t\n", &save);

	while (word) {
		const char *slash = strrchr(word, '/');

		if (strcmp(slash ? slash + 1 : word, "env") && word[0] != '-' && !strchr(word, '='))
			return vt_install_path_command(word);
		word = strtok_r(NULL, " \t\n", &save);
	}
	return NULL;
}

char *vt_install_path_interpreter(const char *path)
{
	char line[PATH_MAX] = "";
	FILE *file = fopen(path, "re");

	if (!file)
		return NULL;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	return strncmp(line, "#!", 2) ? NULL : interpreter_of(line + 2);
}

char *vt_install_path_python(const char *path)
{
	char *interpreter;

	if (is_python_name(path))
		return vt_xstrdup(path);
	interpreter = vt_install_path_interpreter(path);
	if (interpreter && !is_python_name(interpreter)) {
		free(interpreter);
		return NULL;
	}
	return interpreter;
}
