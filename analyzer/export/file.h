/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EXPORT_FILE_H
#define VT_ANALYZER_EXPORT_FILE_H

/* One recording as one file of another program (writers.h has the formats). */

#include "analyzer/base/diag.h"
#include "analyzer/export/writers.h"

struct vt_writer {
	const char *name;
	enum vt_writer_scope scope;
	vt_writer_fn write;
};

struct vt_export_file_options {
	const struct vt_writer *writer;
	const char *output; /* "-": standard output */
	const char *when;   /* moments.h; NULL: the writer's own */
	const char *rules;
	int device;
	enum vt_writer_by by;
	int is_whole;
	int is_forced;
	int has_all_frames;
};

/* NULL where there is no such format. */
const struct vt_writer *vt_export_writer(const char *name);
/* The names of all formats, with commas; free(). */
char *vt_export_writer_names(void);
/* 0, or -1 where `word` is none of VT_WRITER_BYS. */
int vt_export_parse_by(const char *word, enum vt_writer_by *by);

/* What a file lacks, in words; each NULL where it lacks nothing, and to be free()d. */
struct vt_export_lack {
	char *left_out; /* to keep the file small */
	char *folded;   /* model/folded.h */
};

/* 0, or -1 with `diag` filled; `lack` is set in both cases. */
int vt_export_file(const char *path, const struct vt_export_file_options *options,
		   struct vt_export_lack *lack, struct vt_diag *diag);

#endif
