/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/planned_run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/base/embedded.h"
#include "analyzer/base/hash.h"
#include "analyzer/base/install_path.h"
#include "analyzer/base/util.h"
#include "analyzer/commands/launch.h"
#include "analyzer/planner/source.h"
#include "common/recorder_options.h"

/* Of the command before the settings, and how long it waits for the database. */
#define NR_WORDS    15
#define EXIT_WAIT_S "600"

/* Longest answer of --versions. */
#define MAX_VERSIONS 1024

/* One run in its folder. */
struct place {
	char *folder, *config, *recording, *journal, *result, *log;
};

static char *cache_folder(void)
{
	const char *cache = getenv("VTRACE_CACHE"), *base = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (cache && *cache)
		return vt_xasprintf("%s/plans", cache);
	if (base && *base)
		return vt_xasprintf("%s/vtrace/plans", base);
	return vt_xasprintf("%s/.cache/vtrace/plans", home ? home : "");
}

static int make_folders(const char *path, struct vt_diag *diag)
{
	char *copy = vt_xstrdup(path), *slash = copy;
	int rc = 0;

	do {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		rc = mkdir(copy, 0777) && errno != EEXIST ? -1 : 0;
		if (slash)
			*slash = '/';
	} while (slash && !rc);
	if (rc)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: cannot make the folder: %s", path,
			    strerror(errno));
	free(copy);
	return rc;
}

static void place_init(struct place *place, const char *cache, const char *name)
{
	place->folder = vt_xasprintf("%s/%s", cache, name);
	place->config = vt_xasprintf("%s/config.json", place->folder);
	place->recording = vt_xasprintf("%s/run.db", place->folder);
	place->journal = vt_xasprintf("%s/run.journal", place->folder);
	place->result = vt_xasprintf("%s/result.json", place->folder);
	place->log = vt_xasprintf("%s/log", place->folder);
}

static void place_release(struct place *place)
{
	free(place->folder);
	free(place->config);
	free(place->recording);
	free(place->journal);
	free(place->result);
	free(place->log);
}

/* Everything in the folder but its log where that is to stay, and the folder if it is empty. */
static void empty_folder(const char *folder, int is_log_kept)
{
	DIR *files = opendir(folder);
	const struct dirent *entry;

	while (files && (entry = readdir(files)))
		if (!is_log_kept || strcmp(entry->d_name, "log") != 0)
			unlinkat(dirfd(files), entry->d_name, 0);
	if (files)
		closedir(files);
	rmdir(folder);
}

/* Complete or not at all. */
static int write_text(const char *path, const char *text, struct vt_diag *diag)
{
	char *part = vt_xasprintf("%s.%d", path, (int)getpid());
	size_t len = strlen(text);
	FILE *file = fopen(part, "we");
	int rc = file && fwrite(text, 1, len, file) == len ? 0 : -1;

	if (file && fclose(file))
		rc = -1;
	if (!rc)
		rc = rename(part, path);
	if (rc) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: cannot write: %s", path,
			    strerror(errno));
		unlink(part);
	}
	free(part);
	return rc;
}

/* The script, for Python to read: its name says which release of it. */
static char *write_script(const char *cache, struct vt_diag *diag)
{
	const char *text = vt_embedded_model_run;
	char *path = vt_xasprintf("%s/model_run-%016llx.py", cache,
				  (unsigned long long)vt_hash_text(text, strlen(text)));

	if (!access(path, R_OK) || !write_text(path, text, diag))
		return path;
	free(path);
	return NULL;
}

/* One line about Python and its libraries; 0, or -1 where that Python does not run. */
static int ask_versions(const char *python, const char *script, char *line, size_t size)
{
	char *argv[] = { (char *)python, (char *)script, "--versions", NULL };
	int ends[2], status = -1;
	FILE *output;
	pid_t pid;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execvp(python, argv);
		_exit(127);
	}
	close(ends[1]);
	output = fdopen(ends[0], "r");
	if (!output || !fgets(line, (int)size, output))
		line[0] = '\0';
	if (output)
		fclose(output);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && !status && line[0] ? 0 : -1;
}

/* "mode=train"; those that the user gave begin with '+'. */
static char *setting_word(const struct vt_plan_settings *settings, enum vt_setting id)
{
	char value[32];

	return vt_xasprintf("%s%s=%s", settings->is_given[id] ? "+" : "",
			    vt_plan_settings_row(id)->name,
			    vt_plan_settings_text(settings, id, value, sizeof(value)));
}

/* What PyTorch's allocator reads; the rest of the environment changes no bytes. */
static const char *const allocator_variables[] = {
	"PYTORCH_ALLOC_CONF",
	"PYTORCH_CUDA_ALLOC_CONF",
	"PYTORCH_NO_CUDA_MEMORY_CACHING",
	"CUBLAS_WORKSPACE_CONFIG",
};

static uint64_t hash_request(const struct vt_planned_run_request *request, const char *versions,
			     const char *model)
{
	const char *const texts[] = { versions,	       model,
				      request->profile, vt_embedded_model_run,
				      VTRACE_VERSION,  vt_embedded_profiles };
	uint64_t hash = 0;

	for (size_t i = 0; i < VT_ARRAY_SIZE(texts); i++)
		hash = vt_hash_mix(hash, vt_hash_text(texts[i], strlen(texts[i])));
	for (size_t i = 0; i < VT_ARRAY_SIZE(allocator_variables); i++) {
		const char *value = getenv(allocator_variables[i]);

		hash = vt_hash_mix(hash, value ? vt_hash_text(value, strlen(value)) : i);
	}
	for (int id = 0; id < VT_NR_SETTINGS; id++) {
		char *word = setting_word(request->settings, (enum vt_setting)id);

		hash = vt_hash_mix(hash, vt_hash_text(word, strlen(word)));
		free(word);
	}
	return hash;
}

/* The user's settings of the recorder are not for this recording, which is to be whole. */
static void forget_recorder_options(void)
{
#define FORGET_TEXT(field, variable, standard, what)	     unsetenv(variable);
#define FORGET_NUMBER(field, variable, standard, most, what) unsetenv(variable);
	VT_RECORDER_OPTIONS(FORGET_TEXT, FORGET_NUMBER)
#undef FORGET_TEXT
#undef FORGET_NUMBER
}

/* Runs ourselves: `vtrace run --simulate ... -- PYTHON SCRIPT MODEL RESULT LOG SETTING...`. */
static int record(const struct vt_planned_run_request *request, const char *script,
		  const char *model, const struct place *place, struct vt_diag *diag)
{
	char *argv[VT_NR_SETTINGS + 16] = {
		"vtrace",
		"run",
		"--quiet",
		"--exit-wait",
		EXIT_WAIT_S,
		"--simulate",
		(char *)request->profile,
		"--output",
		place->recording,
		"--",
		(char *)request->python,
		(char *)script,
		(char *)model,
		place->result,
		place->log,
	};
	int nr = NR_WORDS, status = 0, rc;
	pid_t pid;

	forget_recorder_options();
	for (int id = 0; id < VT_NR_SETTINGS; id++)
		argv[nr++] = setting_word(request->settings, (enum vt_setting)id);
	argv[nr] = NULL;
	rc = vt_launch_run("/proc/self/exe", argv, &pid, &status, diag);
	while (nr > NR_WORDS)
		free(argv[--nr]);
	return rc;
}

/* 0, or -1 with `diag` filled with what the script said; without a word of it the log is kept. */
static int judge(struct vt_planned_run *run, const struct place *place, const char *model,
		 struct vt_diag *diag)
{
	const char *error;

	run->result = json_load_file(place->result, 0, NULL);
	error = json_string_value(json_object_get(run->result, "error"));
	if (error)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", model, error);
	else if (!run->result)
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: the run ended without a result; its output: %s", model,
			    place->log);
	else if (access(place->recording, R_OK) || !access(place->journal, F_OK))
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: the run left no complete recording",
			    model);
	return diag->exit_code ? -1 : 0;
}

/* Gives the finished run its name; what was there under it goes then, and not before. */
static int publish(const struct place *part, const struct place *place, struct vt_diag *diag)
{
	empty_folder(place->folder, 0);
	if (!rename(part->folder, place->folder))
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: cannot be kept: %s", place->folder,
		    strerror(errno));
	return -1;
}

/* Of a run that ended without a result its output stays, which the message names. */
static int run_into(struct vt_planned_run *run, const struct vt_planned_run_request *request,
		    const char *cache, const char *script, const char *config,
		    const struct place *place, struct vt_diag *diag)
{
	char *name = vt_xasprintf("%s.%d", vt_util_base_name(place->folder), (int)getpid());
	struct place part;
	int rc;

	place_init(&part, cache, name);
	rc = make_folders(part.folder, diag);
	if (!rc && config)
		rc = write_text(part.config, config, diag);
	if (!rc)
		rc = record(request, script, config ? part.config : request->model, &part, diag);
	if (!rc)
		rc = judge(run, &part, request->model, diag);
	if (!rc)
		rc = publish(&part, place, diag);
	if (rc)
		empty_folder(part.folder, !run->result);
	place_release(&part);
	free(name);
	return rc;
}

/* The text of FILE.py behind its path: another file, or another text, is another run. */
static char *script_text(const char *model, struct vt_diag *diag)
{
	char *file = vt_xstrndup(model, (size_t)(strstr(model, ".py:") - model) + strlen(".py"));
	char *path = realpath(file, NULL), *text = NULL, *both = NULL;
	size_t len;

	errno = 0;
	text = vt_source_read(path ? path : file, &len, diag);
	if (text)
		both = vt_xasprintf("%s %s\n%s", path ? path : file, model, text);
	free(text);
	free(path);
	free(file);
	return both;
}

static int make(struct vt_planned_run *run, const struct vt_planned_run_request *request,
		const char *cache, const char *script, struct vt_diag *diag)
{
	int is_script = strstr(request->model, ".py:") != NULL;
	char versions[MAX_VERSIONS], name[32];
	struct place place;
	char *text;
	int rc = 0;

	if (ask_versions(request->python, script, versions, sizeof(versions))) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "--python %s: cannot be run",
			    request->python);
		return -1;
	}
	text = is_script ? script_text(request->model, diag) :
			   vt_source_config(request->model, diag);
	if (!text)
		return -1;
	snprintf(name, sizeof(name), "%016llx",
		 (unsigned long long)hash_request(request, versions, text));
	place_init(&place, cache, name);
	/* What a script imports may have changed: its runs are not taken from before. */
	run->result = is_script ? NULL : json_load_file(place.result, 0, NULL);
	run->is_kept = run->result && !access(place.recording, R_OK);
	if (!run->is_kept) {
		json_decref(run->result);
		run->result = NULL;
		rc = run_into(run, request, cache, script, is_script ? NULL : text, &place, diag);
	}
	run->recording = vt_xstrdup(place.recording);
	place_release(&place);
	free(text);
	return rc;
}

int vt_planned_run_make(struct vt_planned_run *run, const struct vt_planned_run_request *request,
			struct vt_diag *diag)
{
	char *cache = cache_folder(), *script = NULL;
	int rc = make_folders(cache, diag);

	memset(run, 0, sizeof(*run));
	if (!rc)
		script = write_script(cache, diag);
	rc = script ? make(run, request, cache, script, diag) : -1;
	free(script);
	free(cache);
	return rc;
}

void vt_planned_run_release(struct vt_planned_run *run)
{
	json_decref(run->result);
	free(run->recording);
	memset(run, 0, sizeof(*run));
}
