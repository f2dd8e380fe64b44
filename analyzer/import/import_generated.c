/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import_generated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/util.h"
#include "common/generated_name.h"
#include "common/kinds.h"

#define FIRST_LINE   "# AOT ID: "
#define MOST_READ    (16u << 20) /* of one file, mostly kernels */
#define MOST_KEPT    (1u << 20)	 /* of one file */
#define MOST_OF_ALL  (16u << 20)

void vt_import_generated_init(struct vt_import_generated *g, struct vt_db *db)
{
	memset(g, 0, sizeof(*g));
	g->known = vt_db_prepare(db, "SELECT 1 FROM python_source WHERE file = ? AND kind = ?");
	g->insert = vt_db_prepare(db, "INSERT OR IGNORE INTO python_source VALUES (?,?,0,?)");
}

void vt_import_generated_release(struct vt_import_generated *g)
{
	vt_stmt_free(g->known);
	vt_stmt_free(g->insert);
}

/* Heads of kernels, what makes and renames buffers, what runs on them, and of what that is made. */
static int is_telling(const char *line, int is_indented)
{
	if (!is_indented)
		return strncmp(line, "def ", 4) == 0 && strstr(line, "_ptr") != NULL;
	return strncmp(line, "# Topologically Sorted Source Nodes: [", 38) == 0 ||
	       strstr(line, " = empty_strided_") || strstr(line, "extern_kernels.") ||
	       strstr(line, "torch.ops.") || strstr(line, ".run(") ||
	       strstr(line, " = reinterpret_tensor(") || strstr(line, "# reuse") ||
	       (strstr(line, " = buf") && strchr(line, '['));
}

/* The lines that matter, each after its number; NULL: it is another file. */
static char *read_lines(FILE *file, size_t *kept)
{
	char *line = NULL, *text = NULL;
	size_t capacity = 0, read = 0;
	FILE *out = open_memstream(&text, kept);
	ssize_t len;

	if (!out)
		return NULL;
	for (unsigned number = 1; (len = getline(&line, &capacity, file)) > 0; number++) {
		const char *start = line + strspn(line, " ");

		read += (size_t)len;
		if ((number == 1 && strncmp(line, FIRST_LINE, strlen(FIRST_LINE))) ||
		    read > MOST_READ || ftell(out) + len > MOST_KEPT)
			break;
		if (is_telling(start, start != line))
			fprintf(out, "%u\t%s", number, start);
	}
	free(line);
	fclose(out);
	return text;
}

/* One file has several functions.  Returns -1 for an error. */
static int is_known(struct vt_import_generated *g, const struct vt_python_code_record *r)
{
	int nr = 0, rc;

	vt_stmt_bind_text_len(g->known, 1, r->bytes, (int)r->file_len);
	vt_stmt_bind_int(g->known, 2, VT_SOURCE_TEXT_GENERATED);
	while ((rc = vt_stmt_step(g->known)) == 1)
		nr++;
	return rc ? -1 : nr;
}

static int write_lines(struct vt_import_generated *g, const struct vt_python_code_record *r,
		       const char *text, size_t len)
{
	if (!len || g->kept_bytes + len > MOST_OF_ALL)
		return 0;
	g->kept_bytes += len;
	vt_stmt_bind_text_len(g->insert, 1, r->bytes, (int)r->file_len);
	vt_stmt_bind_int(g->insert, 2, VT_SOURCE_TEXT_GENERATED);
	vt_stmt_bind_text_len(g->insert, 3, text, (int)len);
	return vt_stmt_step(g->insert);
}

int vt_import_generated_code(struct vt_import_generated *g, const struct vt_python_code_record *r)
{
	size_t len = 0;
	FILE *file;
	char *path, *text;
	int fd, rc;

	if (!vt_is_generated_name(r->bytes, r->file_len))
		return 0;
	rc = is_known(g, r);
	if (rc)
		return rc < 0 ? -1 : 0;
	path = vt_xstrndup(r->bytes, r->file_len);
	fd = vt_util_open_regular(path);
	free(path);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	text = read_lines(file, &len);
	rc = write_lines(g, r, text, len);
	free(text);
	fclose(file);
	return rc;
}
