/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/simulate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/base/environment.h"
#include "analyzer/base/install_path.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/commands/dynamic_loader.h"
#include "common/ini.h"

static char *read_file(const char *path)
{
	struct vt_buffer text;
	char chunk[4096];
	FILE *file = fopen(path, "re");
	size_t len;

	if (!file)
		return NULL;
	vt_buffer_init(&text);
	while ((len = fread(chunk, 1, sizeof(chunk), file)) > 0)
		vt_buffer_append(&text, chunk, len);
	fclose(file);
	return vt_buffer_detach(&text);
}

/* Whether the text has a section of that name; the names of all of them go to `names`. */
static int find_section(const char *text, const char *name, size_t name_len,
			struct vt_buffer *names)
{
	const char *last = NULL;
	struct vt_ini ini;
	struct vt_ini_entry entry;
	int found = 0, rc;

	vt_ini_init(&ini, text, strlen(text));
	while ((rc = vt_ini_next(&ini, &entry))) {
		if (rc < 0 || entry.section == last || !entry.section_len)
			continue;
		last = entry.section;
		vt_buffer_printf(names, "%s%.*s", names->len ? ", " : "", (int)entry.section_len,
				 entry.section);
		found |= entry.section_len == name_len && !memcmp(entry.section, name, name_len);
	}
	return found;
}

/* One "key=value" of the profile. */
static int is_option(const char *option)
{
	uint64_t bytes;
	unsigned int major, minor, count;
	char rest;

	if (!strncmp(option, "memory=", 7))
		return !vt_units_parse_bytes(option + 7, &bytes) && bytes;
	if (!strncmp(option, "other=", 6) || !strncmp(option, "module=", 7))
		return !vt_units_parse_bytes(strchr(option, '=') + 1, &bytes);
	if (!strncmp(option, "count=", 6))
		return sscanf(option + 6, "%u%c", &count, &rest) == 1 && count >= 1 && count <= 8;
	if (!strncmp(option, "driver=", 7))
		return sscanf(option + 7, "%u.%u%c", &major, &minor, &rest) == 2;
	return 0;
}

static int check_options(const char *profile, const char *options, struct vt_diag *diag)
{
	char *copy = vt_xstrdup(options), *save, *option;
	int rc = 0;

	for (option = strtok_r(copy, ",", &save); option && !rc;
	     option = strtok_r(NULL, ",", &save)) {
		if (is_option(option))
			continue;
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "--simulate %s: %s: options are memory=24GiB, count=1..8, driver=12.4, "
			    "other=3GiB, module=8MiB",
			    profile, option);
		rc = -1;
	}
	free(copy);
	return rc;
}

int vt_simulate_check(const char *profile, const char *ini, struct vt_diag *diag)
{
	size_t len = strcspn(profile, ",");
	struct vt_buffer names;
	int rc = 0;

	vt_buffer_init(&names);
	if (!find_section(ini, profile, len, &names)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "--simulate %.*s: unknown profile; known: %s", (int)len, profile,
			    names.data ? names.data : "none");
		rc = -1;
	} else if (profile[len]) {
		rc = check_options(profile, profile + len + 1, diag);
	}
	vt_buffer_release(&names);
	return rc;
}

/* Runs `program --python PYTHON` and returns its first line, NULL if it failed. */
static char *ask(const char *program, const char *python)
{
	int ends[2], status = -1;
	char line[4096] = "";
	FILE *output;
	pid_t pid;

	if (pipe(ends))
		return NULL;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(program, program, "--python", python, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	output = fdopen(ends[0], "r");
	if (!output || !fgets(line, sizeof(line), output))
		line[0] = '\0';
	if (output)
		fclose(output);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	line[strcspn(line, "\n")] = '\0';
	return pid > 0 && status == 0 ? vt_xstrdup(line) : NULL;
}

static int find_stubs(struct vt_simulate *simulate, const char *command_path, struct vt_diag *diag)
{
	char *python = vt_install_path_python(command_path);
	char *program = vt_xasprintf("%s/vtrace-sim-stubs", simulate->folder);

	/* A shell script, say, that will start Python: then the usual one. */
	if (!python)
		python = vt_install_path_command("python3");
	simulate->stubs = python ? ask(program, python) : vt_xstrdup("");
	if (!simulate->stubs)
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "--simulate: %s --python %s failed: no library stubs", program, python);
	free(python);
	free(program);
	return simulate->stubs ? 0 : -1;
}

int vt_simulate_prepare(struct vt_simulate *simulate, const char *profile, const char *command_path,
			struct vt_diag *diag)
{
	char *path = NULL, *ini = NULL;
	int rc = -1;

	memset(simulate, 0, sizeof(*simulate));
	simulate->folder = vt_install_path_own("simulator");
	path = vt_xasprintf("%s/profiles.ini", simulate->folder ? simulate->folder : "");
	ini = simulate->folder ? read_file(path) : NULL;
	if (!ini) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "--simulate: simulator not found (profiles.ini next to vtrace)");
		goto out;
	}
	rc = vt_simulate_check(profile, ini, diag);
	if (!rc)
		rc = find_stubs(simulate, command_path, diag);
out:
	free(ini);
	free(path);
	if (rc)
		vt_simulate_release(simulate);
	return rc;
}

void vt_simulate_release(struct vt_simulate *simulate)
{
	if (simulate->shared)
		unlink(simulate->shared);
	free(simulate->shared);
	free(simulate->folder);
	free(simulate->stubs);
	memset(simulate, 0, sizeof(*simulate));
}

/* Without it the processes of the program do not see each other's memory, which is no error. */
static void share(struct vt_simulate *simulate)
{
	const char *folder = getenv("TMPDIR");
	int fd;

	/* A simulation inside of another one is on the same devices. */
	if (getenv("VTRACE_SIM_SHARED"))
		return;
	simulate->shared = vt_xasprintf("%s/vtrace-devices-XXXXXX",
					folder && *folder ? folder : P_tmpdir);
	fd = mkostemp(simulate->shared, O_CLOEXEC);
	if (fd < 0) {
		free(simulate->shared);
		simulate->shared = NULL;
		return;
	}
	close(fd);
	setenv("VTRACE_SIM_SHARED", simulate->shared, 1);
}

int vt_simulate_set_environment(struct vt_simulate *simulate, const char *profile,
				struct vt_diag *diag)
{
	char *folder = vt_dynamic_loader_name(simulate->folder, diag);
	char *stubs = folder ? vt_dynamic_loader_name(simulate->stubs, diag) : NULL;
	char *loader = vt_xasprintf("%s/libvtrace-simulator.so", folder ? folder : "");

	if (stubs) {
		vt_environment_prepend("LD_PRELOAD", loader);
		if (*stubs)
			vt_environment_prepend("LD_LIBRARY_PATH", stubs);
		vt_environment_prepend("LD_LIBRARY_PATH", folder);
		setenv("VTRACE_SIM_PROFILE", profile, 1);
		share(simulate);
		setenv("VTRACE_SIM_STUBS", simulate->stubs, 1);
	}
	free(loader);
	free(folder);
	free(stubs);
	return stubs ? 0 : -1;
}
