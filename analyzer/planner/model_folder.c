/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/model_folder.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyzer/base/printable.h"
#include "analyzer/planner/json_cursor.h"
#include "analyzer/planner/tensor_file.h"

/* The largest released model has some 200. */
#define MAX_FILES 4096

VT_VECTOR_DECLARE(names, char *);

static void release(struct names *names)
{
	for (size_t i = 0; i < names->len; i++)
		free(names->items[i]);
	vt_vector_release(names);
}

/* The last one first: neighbours in an index are mostly of one file. */
static int is_known(const struct names *names, const struct vt_json_text *name)
{
	for (size_t i = names->len; i-- > 0;)
		if (vt_json_is(name, names->items[i]))
			return 1;
	return 0;
}

/* --- which files ------------------------------------------------------------------------------ */

/* An index is somebody else's: it names files beside itself and no others. */
static int take_file(struct names *names, const struct vt_json_text *name, const char *where,
		     struct vt_diag *diag)
{
	char shown[64];

	if (is_known(names, name))
		return 0;
	if (name->len && !memchr(name->bytes, '/', name->len) && name->len < NAME_MAX &&
	    names->len < MAX_FILES) {
		vt_vector_push(names, vt_xstrndup(name->bytes, name->len));
		return 0;
	}
	snprintf(shown, sizeof(shown), "%.*s", (int)(name->len < 60 ? name->len : 60),
		 name->len ? name->bytes : "");
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: \"%s\" is not a file in this folder", where,
		    vt_printable_make(shown));
	return -1;
}

static int take_map(struct names *names, struct vt_json_cursor *c, const char *where,
		    struct vt_diag *diag)
{
	int is_first = 1, is_object = vt_json_enter(c, '{');

	while (is_object && vt_json_next(c, '}', &is_first)) {
		struct vt_json_text file;

		vt_json_name(c);
		file = vt_json_string(c);
		if (!c->is_bad && take_file(names, &file, where, diag))
			return -1;
	}
	return 0;
}

/* {"metadata": {...}, "weight_map": {"tensor": "file", ...}} */
static int read_index(struct names *names, const char *path, struct vt_diag *diag)
{
	size_t len;
	void *bytes = vt_tensor_file_map(path, &len, diag);
	struct vt_json_cursor c = { 0 };
	int is_first = 1, rc = 0, is_object;

	if (!bytes)
		return -1;
	c.at = bytes;
	c.end = c.at + len;
	is_object = vt_json_enter(&c, '{');
	while (!rc && is_object && vt_json_next(&c, '}', &is_first)) {
		struct vt_json_text key = vt_json_name(&c);

		if (vt_json_is(&key, "weight_map"))
			rc = take_map(names, &c, path, diag);
		else
			vt_json_skip(&c);
	}
	if (!rc && (!is_object || !names->len || !vt_json_is_over(&c))) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no index with a weight_map", path);
		rc = -1;
	}
	munmap(bytes, len);
	return rc;
}

static int is_wanted(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && vt_util_has_suffix(entry->d_name, ".safetensors");
}

static void list_all(struct names *names, const char *path)
{
	struct dirent **entries;
	int nr = scandir(path, &entries, is_wanted, alphasort);

	for (int i = 0; i < nr; i++) {
		vt_vector_push(names, vt_xstrdup(entries[i]->d_name));
		free(entries[i]);
	}
	if (nr >= 0)
		free(entries);
}

static int list_weight_files(struct names *names, const char *path, struct vt_diag *diag)
{
	char *index = vt_xasprintf("%s/model.safetensors.index.json", path);
	char *single = vt_xasprintf("%s/model.safetensors", path);
	int rc = 0;

	if (!access(index, F_OK))
		rc = read_index(names, index, diag);
	else if (!access(single, F_OK))
		vt_vector_push(names, vt_xstrdup("model.safetensors"));
	else
		list_all(names, path);
	free(index);
	free(single);
	return rc;
}

int vt_model_folder_read(struct vt_architecture *model, const char *path, struct vt_diag *diag)
{
	struct names names = { 0 };
	int rc = list_weight_files(&names, path, diag);

	for (size_t i = 0; !rc && i < names.len; i++) {
		char *file = vt_xasprintf("%s/%s", path, names.items[i]);

		rc = vt_tensor_file_open(model, file, diag);
		free(file);
	}
	if (!rc)
		rc = (int)names.len;
	release(&names);
	return rc;
}

/* --- what they say beside a configuration ----------------------------------------------------- */

/* Of most bytes; NULL where those are of no type to compute in. */
static const char *dtype_of(const struct vt_architecture *files)
{
	static const char *const names[] = { "float32", "bfloat16", "float16" };
	double sums[VT_ARRAY_SIZE(names)] = { 0 }, other = 0;
	size_t best = 0;

	for (size_t i = 0; i < files->nr_tensors; i++) {
		const struct vt_plan_tensor *t = &files->tensors[i];
		double bytes = (double)vt_tensor_elements(t) * t->bits;
		size_t type = 0;

		while (type < VT_ARRAY_SIZE(names) && strcmp(t->dtype, names[type]))
			type++;
		*(type < VT_ARRAY_SIZE(names) ? &sums[type] : &other) += bytes;
	}
	for (size_t type = 1; type < VT_ARRAY_SIZE(names); type++)
		best = sums[type] > sums[best] ? type : best;
	return sums[best] > other ? names[best] : NULL;
}

static int is_of_one_size(const struct vt_architecture *files)
{
	for (size_t i = 1; i < files->nr_tensors; i++)
		if (files->tensors[i].bits != files->tensors[0].bits)
			return 0;
	return 1;
}

/* A tied head is sometimes stored, too: loading makes it the embedding again. */
static void drop_tied_head(struct vt_architecture *files)
{
	size_t kept = 0;

	for (size_t i = 0; i < files->nr_tensors; i++) {
		if (files->tensors[i].role == VT_ROLE_HEAD)
			files->elements -= (double)vt_tensor_elements(&files->tensors[i]);
		else
			files->tensors[kept++] = files->tensors[i];
	}
	files->nr_tensors = kept;
}

static int has_no_such_part(const struct vt_architecture *model, enum vt_part part)
{
	return !model->stacks[part].hidden && part != VT_PART_PROJECTOR;
}

/* The files' table for the configuration's. */
static void take_tensors(struct vt_architecture *model, struct vt_architecture *files)
{
	for (size_t i = 0; i < files->nr_tensors; i++) {
		struct vt_plan_tensor *t = &files->tensors[i];

		if (has_no_such_part(model, t->part))
			t->part = VT_PART_TEXT;
	}
	free(model->tensors);
	model->tensors = files->tensors;
	model->nr_tensors = files->nr_tensors;
	model->capacity = files->capacity;
	model->elements = files->elements;
	files->tensors = NULL;
	files->nr_tensors = files->capacity = 0;
}

void vt_model_folder_merge(struct vt_architecture *model, struct vt_architecture *files)
{
	const char *dtype = dtype_of(files);
	int is_plain = dtype && is_of_one_size(files);
	uint64_t made = vt_architecture_count(model, NULL, NULL), stored;

	if (dtype)
		snprintf(model->dtype, sizeof(model->dtype), "%s", dtype);
	if (model->is_tied)
		drop_tied_head(files);
	stored = vt_architecture_count(files, NULL, NULL);
	if (is_plain && stored == made)
		return;
	/* What is of the run's type follows its options; a mixture is as stored. */
	for (size_t i = 0; is_plain && i < files->nr_tensors; i++)
		files->tensors[i].bits = 0;
	if (stored != made) {
		vt_architecture_note(
			model, vt_xasprintf("the files have %" PRIu64 " parameters, the "
					    "configuration makes %" PRIu64 "; the files are used",
					    stored, made));
	}
	take_tensors(model, files);
}
