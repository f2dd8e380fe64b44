/* SPDX-License-Identifier: MIT */
#include "analyzer/export/file.h"

#include <string.h>

#include "analyzer/attribution/moments.h"
#include "analyzer/base/output.h"
#include "analyzer/base/util.h"

#define BUFFER_BYTES (1 << 20)

#define ROW(function, name, scope) { name, VT_WRITER_##scope, vt_write_##function },
static const struct vt_writer writers[] = { VT_WRITERS(ROW) };
#undef ROW

const struct vt_writer *vt_export_writer(const char *name)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(writers); i++)
		if (strcmp(writers[i].name, name) == 0)
			return &writers[i];
	return NULL;
}

char *vt_export_writer_names(void)
{
	struct vt_buffer names;

	vt_buffer_init(&names);
	for (size_t i = 0; i < VT_ARRAY_SIZE(writers); i++)
		vt_buffer_printf(&names, "%s%s", i ? ", " : "", writers[i].name);
	return vt_buffer_detach(&names);
}

int vt_export_parse_by(const char *word, enum vt_writer_by *by)
{
#define WORD(name, text) text,
	static const char *const words[] = { VT_WRITER_BYS(WORD) };
#undef WORD

	for (unsigned i = 0; i < VT_NR_WRITER_BYS; i++)
		if (strcmp(word, words[i]) == 0) {
			*by = (enum vt_writer_by)i;
			return 0;
		}
	return -1;
}

static int find_moment(struct vt_writer_job *job, const struct vt_export_file_options *options,
		       struct vt_diag *diag)
{
	static const char *const usual[] = { [VT_WRITER_TIMELINE] = "end",
					     [VT_WRITER_UNTIL] = "end",
					     [VT_WRITER_MOMENT] = "most-allocated" };
	const char *when = options->when ? options->when : usual[options->writer->scope];

	return vt_moments_resolve(&job->analysis->stages, when, job->device, &job->event, diag);
}

static int write_job(struct vt_writer_job *job, const struct vt_export_file_options *options,
		     struct vt_diag *diag)
{
	struct vt_output output;

	if (vt_output_open(&output, options->output, options->is_forced, diag))
		return -1;
	setvbuf(output.file, NULL, _IOFBF, BUFFER_BYTES);
	job->out = output.file;
	vt_progress_init(&job->progress, "writing");
	options->writer->write(job);
	vt_progress_end(&job->progress);
	return vt_output_close(&output, 0, diag);
}

int vt_export_file(const char *path, const struct vt_export_file_options *options,
		   struct vt_export_lack *lack, struct vt_diag *diag)
{
	struct vt_analysis analysis = { 0 };
	struct vt_writer_job job = { .analysis = &analysis,
				     .device = options->device,
				     .by = options->by,
				     .is_whole = options->is_whole };
	int rc = vt_output_check(options->output, options->is_forced, diag);

	if (!rc)
		rc = vt_analysis_open(&analysis, path, options->rules, diag);
	if (!rc) {
		lack->folded = vt_folded_describe(analysis.db);
		vt_describe_init(&job.describe, &analysis.model, options->has_all_frames);
		rc = find_moment(&job, options, diag);
		if (!rc)
			rc = write_job(&job, options, diag);
		vt_describe_release(&job.describe);
	}
	vt_analysis_close(&analysis);
	lack->left_out = job.left_out;
	return rc;
}
