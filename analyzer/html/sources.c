/* SPDX-License-Identifier: MIT */
#include "analyzer/html/sources.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"
#include "analyzer/import/run_keys.h"
#include "analyzer/model/producer.h"

#define MOST_BYTES (4 << 20) /* of a file */
#define MOST_CHARS 160       /* of a line */
#define MOST_FILES 2000

struct vt_source_file {
	const char *name;
	char *text; /* NULL: not to be had */
};

void vt_sources_init(struct vt_sources *sources, const struct vt_model *model)
{
	memset(sources, 0, sizeof(*sources));
	sources->model = model;
	sources->start_s =
		vt_db_run_get_int(model->db, vt_run_key(VT_RUN_START_REALTIME), 0) / 1000000000;
}

void vt_sources_release(struct vt_sources *sources)
{
	for (uint32_t i = 0; i < sources->nr_files; i++)
		free(sources->files[i].text);
	free(sources->files);
	memset(sources, 0, sizeof(*sources));
}

/* NULL where the file is no source, or was written after the program had begun. */
static char *read_text(const struct vt_sources *sources, const char *name)
{
	struct stat status;
	char *text = NULL;
	ssize_t nr;
	int fd;

	if (name[0] != '/' || !vt_util_has_suffix(name, ".py"))
		return NULL;
	fd = vt_util_open_regular(name);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &status) && status.st_size > 0 && status.st_size < MOST_BYTES &&
	    (!sources->start_s || status.st_mtime <= sources->start_s)) {
		text = vt_xmalloc((size_t)status.st_size + 1);
		nr = read(fd, text, (size_t)status.st_size);
		text[nr > 0 ? nr : 0] = '\0';
	}
	close(fd);
	return text;
}

static const char *text_of(struct vt_sources *sources, const char *name)
{
	struct vt_source_file *file;

	for (uint32_t i = 0; i < sources->nr_files; i++)
		if (!strcmp(sources->files[i].name, name))
			return sources->files[i].text;
	if (sources->nr_files == MOST_FILES)
		return NULL;
	sources->files = vt_xrealloc(sources->files,
				     (sources->nr_files + 1) * sizeof(*sources->files));
	file = &sources->files[sources->nr_files++];
	file->name = name;
	file->text = read_text(sources, name);
	return file->text;
}

char *vt_sources_line(struct vt_sources *sources, uint32_t python_frame)
{
	const struct vt_frames *frames = &sources->model->frames;
	const struct vt_code *code = vt_frames_code(frames, python_frame);
	uint32_t line = python_frame < frames->nr_python ? frames->python[python_frame].line : 0;
	const char *text = code->file ? text_of(sources, code->file) : NULL;
	size_t length;

	for (; text && line > 1; line--) {
		text = strchr(text, '\n');
		text += text != NULL;
	}
	if (!text || !line)
		return NULL;
	text += strspn(text, " \t");
	length = strcspn(text, "\r\n");
	if (!length)
		return NULL;
	return vt_printable_make(vt_xstrndup(text, length < MOST_CHARS ? length : MOST_CHARS));
}

char *vt_sources_made(struct vt_sources *sources, const struct vt_describe *describe,
		      const struct vt_allocation *a)
{
	uint32_t ids[VT_FRAMES_MAX], stack = vt_producer_stack(describe->model, a);

	return vt_describe_visible(describe, stack, ids) ? vt_sources_line(sources, ids[0]) : NULL;
}
