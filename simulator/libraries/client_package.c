/* SPDX-License-Identifier: MIT */
#include "client_package.h"

#include <errno.h>
#include <glob.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* CuPy keeps what it links in a package beside the one that programs import. */
static const char question[] =
	"import importlib.util as u\n"
	"found = filter(None, map(u.find_spec, ('torch', 'cupy')))\n"
	"places = [s.submodule_search_locations for s in found if s.submodule_search_locations]\n"
	"print(places[0][0] if places else '')\n";

/* The interpreter must not be traced or simulated for being asked. */
static char **clean_environment(void)
{
	extern char **environ;
	size_t nr = 0, kept = 0, i;
	char **copy;

	while (environ[nr])
		nr++;
	copy = calloc(nr + 1, sizeof(*copy));
	for (i = 0; copy && i < nr; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11))
			copy[kept++] = environ[i];
	return copy;
}

static int start(const char *python, int *output, pid_t *pid)
{
	char *arguments[] = {(char *)python, "-c", (char *)question, NULL};
	char **environment = clean_environment();
	posix_spawn_file_actions_t actions;
	int ends[2];
	int error;

	if (!environment)
		return -ENOMEM;
	if (pipe(ends)) {
		error = -errno;
		goto out;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	posix_spawn_file_actions_addclose(&actions, ends[1]);
	error = -posix_spawnp(pid, python, &actions, NULL, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	*output = ends[0];
	if (error)
		close(ends[0]);
out:
	free(environment);
	return error;
}

int vts_client_package_find(const char *python, char *directory, size_t size)
{
	FILE *stream;
	int output = -1, status;
	pid_t pid;
	int error = start(python, &output, &pid);

	if (error)
		return error;
	directory[0] = '\0';
	stream = fdopen(output, "r");
	if (stream && fgets(directory, (int)size, stream))
		directory[strcspn(directory, "\n")] = '\0';
	if (stream)
		fclose(stream);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return directory[0] ? 0 : 1;
}

void vts_client_package_version(const char *directory, char *version, size_t size)
{
	static const char *const names[] = {"version.py", "_version.py"};
	char path[4096], line[512];
	FILE *file;
	size_t i;

	snprintf(version, size, "unknown");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "__version__ = '%255[0-9A-Za-z.+-]'", path) == 1)
				snprintf(version, size, "%s", path);
		if (file)
			fclose(file);
	}
}

/* "nvidia-cudnn-cu12 (==9.1.0.70)" of old wheels, "nvidia-cudnn-cu13==9.19.0.56" of new ones. */
static void note_requirement(struct vts_stub_set *set, const char *package, const char *release)
{
	struct vts_stub_library *library;
	const char *stem;
	size_t i, len;

	for (i = 0; i < set->nr_libraries; i++) {
		library = &set->libraries[i];
		stem = library->soname + strlen("lib");
		len = strcspn(stem, "._");
		if (strncasecmp(package, stem, len) || (package[len] != '-' && package[len]))
			continue;
		free(library->version);
		library->version = strdup(release);
	}
}

static void read_requirements(const char *path, struct vts_stub_set *set)
{
	char line[1024], package[128], release[64];
	FILE *file = fopen(path, "r");
	const char *equals;

	while (file && fgets(line, sizeof(line), file)) {
		equals = strstr(line, "==");
		if (equals && sscanf(line, "Requires-Dist: nvidia-%127[a-z0-9-]", package) == 1 &&
		    sscanf(equals, "==%63[0-9.]", release) == 1)
			note_requirement(set, package, release);
	}
	if (file)
		fclose(file);
}

void vts_client_package_releases(const char *directory, struct vts_stub_set *set)
{
	char pattern[4096];
	glob_t found;
	size_t i;

	snprintf(pattern, sizeof(pattern), "%s-*.dist-info/METADATA", directory);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++)
		read_requirements(found.gl_pathv[i], set);
	globfree(&found);
}
