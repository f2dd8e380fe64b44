/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/source.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/embedded.h"
#include "analyzer/base/printable.h"
#include "analyzer/planner/config.h"
#include "analyzer/planner/hub_cache.h"
#include "analyzer/planner/model_folder.h"
#include "analyzer/planner/tensor_file.h"

/* The largest config.json of a released model has some 100 KiB (lists per layer, label names). */
#define MAX_CONFIG_BYTES (4 * 1024 * 1024)

#define UNKNOWN_NAME "%s: neither a file nor a preset; vtrace estimate --list shows the presets"


char *vt_source_read(const char *path, size_t *len, struct vt_diag *diag)
{
	int fd = vt_util_open_regular(path);
	struct stat st;
	char *text;
	ssize_t got = -1;

	if (fd < 0 || fstat(fd, &st)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: cannot read: %s", path,
			    fd < 0 && !errno ? "not a regular file" : strerror(errno));
		return NULL;
	}
	if (st.st_size > MAX_CONFIG_BYTES) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: %lld bytes are too large for a configuration", path,
			    (long long)st.st_size);
		close(fd);
		return NULL;
	}
	text = vt_xmalloc((size_t)st.st_size + 1);
	got = read(fd, text, (size_t)st.st_size);
	close(fd);
	*len = got > 0 ? (size_t)got : 0;
	text[*len] = '\0';
	return text;
}

static int open_config(struct vt_architecture *model, const char *path, struct vt_diag *diag)
{
	size_t len;
	char *text = vt_source_read(path, &len, diag);
	int rc = text ? vt_config_read(model, text, len, path, diag) : -1;

	free(text);
	return rc;
}

/* The files' headers say how many parameters of which type, config.json all else. */
static int open_folder(struct vt_architecture *model, const char *path, struct vt_diag *diag)
{
	char *config = vt_xasprintf("%s/config.json", path);
	struct vt_architecture files = { 0 };
	int has_config = !access(config, F_OK);
	int rc = has_config ? open_config(model, config, diag) : 0;
	int nr_files = rc ? -1 : vt_model_folder_read(has_config ? &files : model, path, diag);

	if (has_config && nr_files > 0)
		vt_model_folder_merge(model, &files);
	else if (!has_config && !nr_files)
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: contains neither config.json nor *.safetensors", path);
	vt_architecture_release(&files);
	free(config);
	return nr_files < 0 || (!has_config && !nr_files) ? -1 : 0;
}

static int open_preset(struct vt_architecture *model, const char *name, struct vt_diag *diag)
{
	json_t *presets = json_loads(vt_embedded_presets, 0, NULL);
	const json_t *config = json_object_get(presets, name);
	int rc = -1;

	if (config)
		rc = vt_config_from_json(model, config, name, diag);
	else
		vt_diag_set(diag, VT_EXIT_UNREADABLE, UNKNOWN_NAME, name);
	json_decref(presets);
	return rc;
}

static int is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int is_preset(const char *name)
{
	return access(name, F_OK) && !strchr(name, '/') && !vt_util_has_suffix(name, ".json");
}

static int is_tensor_file(const char *name)
{
	return vt_util_has_suffix(name, ".safetensors") || vt_util_has_suffix(name, ".gguf");
}

int vt_source_open(struct vt_architecture *model, const char *name, struct vt_diag *diag)
{
	char *cached = access(name, F_OK) ? vt_hub_cache_find(name) : NULL;
	int rc;

	model->name = vt_printable_copy(name);
	errno = 0;
	if (cached || is_folder(name))
		rc = open_folder(model, cached ? cached : name, diag);
	else if (is_preset(name))
		rc = open_preset(model, name, diag);
	else if (is_tensor_file(name))
		rc = vt_tensor_file_open(model, name, diag);
	else
		rc = open_config(model, name, diag);
	free(cached);
	return rc;
}

static char *preset_text(const char *name, struct vt_diag *diag)
{
	json_t *presets = json_loads(vt_embedded_presets, 0, NULL);
	const json_t *config = json_object_get(presets, name);
	char *text = config ? json_dumps(config, 0) : NULL;

	if (!text)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, UNKNOWN_NAME, name);
	json_decref(presets);
	return text;
}

char *vt_source_config(const char *name, struct vt_diag *diag)
{
	char *cached = access(name, F_OK) ? vt_hub_cache_find(name) : NULL, *path, *text = NULL;
	const char *folder = cached ? cached : is_folder(name) ? name : NULL;
	size_t len;

	if (!folder && is_preset(name))
		return preset_text(name, diag);
	if (!folder && is_tensor_file(name)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: has no configuration to build a model from", name);
		return NULL;
	}
	path = folder ? vt_xasprintf("%s/config.json", folder) : vt_xstrdup(name);
	errno = 0;
	text = vt_source_read(path, &len, diag);
	free(path);
	free(cached);
	return text;
}

static double multiplier(char letter)
{
	switch (toupper((unsigned char)letter)) {
	case '\0':
		return 1;
	case 'K':
		return 1e3;
	case 'M':
		return 1e6;
	case 'B':
		return 1e9;
	case 'T':
		return 1e12;
	default:
		return 0;
	}
}

int vt_source_nominal(struct vt_architecture *model, const char *count, struct vt_diag *diag)
{
	struct vt_tensor_spec spec = { VT_PART_TEXT, VT_ROLE_LINEAR, 1, 1, 1, 0 };
	char *end = NULL;
	double value = isdigit((unsigned char)count[0]) ? strtod(count, &end) : 0;

	if (value > 0 && end[0] && end[1])
		value = 0;
	value *= end ? multiplier(end[0]) : 0;
	if (!(value >= 1 && value < 0x1p50)) {
		vt_diag_set(diag, VT_EXIT_USAGE, "--params %.40s: a number such as 7B or 350M",
			    count);
		return -1;
	}
	/* One row, so that scales per row are not counted. */
	spec.columns = (uint64_t)(value + 0.5);
	model->name = vt_xasprintf("%s parameters", count);
	model->family = vt_xstrdup("none");
	model->is_nominal = 1;
	model->note = vt_xstrdup("a nominal number of parameters: no activations, logits or cache");
	vt_architecture_add(model, "all", &spec);
	return 0;
}

char *vt_source_presets(void)
{
	json_t *presets = json_loads(vt_embedded_presets, 0, NULL), *config;
	struct vt_buffer text;
	const char *name;

	vt_buffer_init(&text);
	json_object_foreach(presets, name, config)
		vt_buffer_printf(&text, "%s%s", text.len ? " " : "", name);
	json_decref(presets);
	return vt_buffer_detach(&text);
}
