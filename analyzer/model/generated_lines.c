/* SPDX-License-Identifier: MIT */
#include "analyzer/model/generated_lines.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/map.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/model/python_sources.h"

/* A stretch of a generated file. */
struct stretch {
	uint32_t line;
	uint32_t first_frame; /* in `frames` of its file */
	uint32_t nr_frames;
};

struct file {
	VT_VECTOR(struct stretch) stretches; /* by line */
	VT_VECTOR(uint32_t) frames;	     /* ids of Python frames, outermost first */
};

struct applying {
	struct vt_frames *frames;
	struct vt_map codes; /* file and function -> id */
	VT_VECTOR(struct file) files;
	uint32_t *file_of; /* by code: index + 1 */
	uint32_t nr_codes; /* that are not ours */
};

/* What the tables of frames get after their last id. */
static uint32_t add_code(struct vt_frames *frames, const char *file, const char *name)
{
	struct vt_code code = { vt_printable_copy(file), vt_printable_copy(name), NULL, 0 };

	code.short_name = code.name;
	frames->codes = vt_xrealloc(frames->codes,
				    ((size_t)frames->nr_codes + 1) * sizeof(*frames->codes));
	frames->codes[frames->nr_codes] = code;
	return frames->nr_codes++;
}

static uint32_t add_frame(struct vt_frames *frames, uint32_t code, uint32_t line)
{
	struct vt_frame_python frame = { code, line, 0, 0 };

	frames->python = vt_xrealloc(frames->python,
				     ((size_t)frames->nr_python + 1) * sizeof(*frames->python));
	frames->python[frames->nr_python] = frame;
	return frames->nr_python++;
}

static uint32_t add_node(struct vt_frame_tree *tree, uint32_t parent, uint32_t frame)
{
	struct vt_frame_node node = { parent, frame };

	tree->nodes = vt_xrealloc(tree->nodes, ((size_t)tree->nr_nodes + 1) * sizeof(*tree->nodes));
	tree->nodes[tree->nr_nodes] = node;
	return tree->nr_nodes++;
}

static uint32_t find_code(struct applying *a, const char *file, const char *name)
{
	struct vt_key key = { vt_hash_text(file, strlen(file)), vt_hash_text(name, strlen(name)),
			      0 };
	const uint64_t *known = vt_map_find(&a->codes, key);
	uint32_t code;

	if (known)
		return (uint32_t)*known;
	code = add_code(a->frames, file, name);
	vt_map_put(&a->codes, key, code);
	return code;
}

typedef VT_VECTOR(char *) names;

/* 120<tab>0:31 forward<tab>1:14 attend, which is changed. */
static void read_stretch(struct applying *a, struct file *file, const names *files, char *row)
{
	struct stretch stretch = { 0, (uint32_t)file->frames.len, 0 };
	char *at;

	stretch.line = (uint32_t)strtoul(row, &at, 10);
	while (*at == '\t') {
		unsigned long nr = strtoul(at + 1, &at, 10);
		unsigned long line = *at == ':' ? strtoul(at + 1, &at, 10) : 0;
		char *name = *at == ' ' ? at + 1 : at;
		size_t len = strcspn(name, "\t");
		char behind = name[len];

		name[len] = '\0';
		if (nr < files->len && line && line < UINT32_MAX && len) {
			vt_vector_push(&file->frames,
				       add_frame(a->frames,
						 find_code(a, files->items[nr], name),
						 (uint32_t)line));
			stretch.nr_frames++;
		}
		name[len] = behind;
		at = name + len;
	}
	if (stretch.nr_frames)
		vt_vector_push(&file->stretches, stretch);
}

static int compare_stretches(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

static void add_file(void *context, const char *name, const char *text)
{
	struct applying *a = context;
	char *copy = vt_xstrdup(text), *rest = copy, *row;
	struct file file = { 0 };
	names files = { 0 };
	int is_behind = 0;

	while ((row = strsep(&rest, "\n"))) {
		if (is_behind)
			read_stretch(a, &file, &files, row);
		else if (*row)
			vt_vector_push(&files, row);
		else
			is_behind = 1;
	}
	vt_vector_sort(&file.stretches, compare_stretches);
	vt_vector_push(&a->files, file);
	vt_python_sources_mark(a->frames, a->nr_codes, name, a->file_of, (uint32_t)a->files.len);
	vt_vector_release(&files);
	free(copy);
}

/* The file of a node's frame; NULL: it is no generated one. */
static const struct file *file_of(const struct applying *a, uint32_t node)
{
	uint32_t frame = a->frames->python_tree.nodes[node].frame, code;

	if (frame >= a->frames->nr_python)
		return NULL;
	code = a->frames->python[frame].code;
	return code < a->nr_codes && a->file_of[code] ? &a->files.items[a->file_of[code] - 1]
						      : NULL;
}

/* Whether a caller is the function that was compiled, which the user's frames begin with. */
static int is_within(const struct applying *a, uint32_t node, uint32_t frame)
{
	const struct vt_code *wanted = vt_frames_code(a->frames, frame);

	for (unsigned i = 0; node && node < a->frames->python_tree.nr_nodes && i < VT_FRAMES_MAX;
	     i++) {
		const struct vt_frame_node *n = &a->frames->python_tree.nodes[node];
		const struct vt_code *code;

		if (n->frame >= a->frames->nr_python)
			break;
		code = vt_frames_code(a->frames, n->frame);
		if (code->short_name && !strcmp(code->short_name, wanted->short_name) &&
		    !strcmp(code->file, wanted->file))
			return 1;
		node = n->parent;
	}
	return 0;
}

/* What is above the first stretch belongs to it: its kernel's buffers are made before it begins. */
static const struct stretch *find_stretch(const struct file *file, uint32_t line)
{
	size_t behind = vt_search_first(i, file->stretches.len,
					file->stretches.items[i].line <= line);

	return file->stretches.len ? &file->stretches.items[behind ? behind - 1 : 0] : NULL;
}

static void replace(struct applying *a, uint32_t node, const struct file *file)
{
	struct vt_frame_tree *tree = &a->frames->python_tree;
	uint32_t parent = tree->nodes[node].parent, first = 0;
	const struct stretch *s =
		find_stretch(file, a->frames->python[tree->nodes[node].frame].line);

	if (!s)
		return;
	if (s->nr_frames > 1 && is_within(a, parent, file->frames.items[s->first_frame]))
		first = 1;
	for (uint32_t i = first; i + 1 < s->nr_frames; i++)
		parent = add_node(tree, parent, file->frames.items[s->first_frame + i]);
	tree->nodes[node].frame = file->frames.items[s->first_frame + s->nr_frames - 1];
	tree->nodes[node].parent = parent;
}

/* A graph in several parts: each is called by the whole, whose frame then says nothing more. */
static void skip_callers(struct applying *a, uint32_t node, const struct file *file)
{
	struct vt_frame_tree *tree = &a->frames->python_tree;

	for (unsigned i = 0; i < VT_FRAMES_MAX; i++) {
		uint32_t parent = tree->nodes[node].parent;

		if (!parent || parent >= tree->nr_nodes || file_of(a, parent) != file)
			return;
		tree->nodes[node].parent = tree->nodes[parent].parent;
	}
}

int vt_generated_lines_apply(struct vt_frames *frames, struct vt_db *db, struct vt_diag *diag)
{
	struct applying a = { .frames = frames, .nr_codes = frames->nr_codes };
	uint32_t nr_nodes = frames->python_tree.nr_nodes;
	int rc;

	a.file_of = vt_xcalloc((size_t)frames->nr_codes + 1, sizeof(*a.file_of));
	rc = vt_python_sources_each(db, VT_SOURCE_TEXT_LINES, add_file, &a, diag);
	/* Callers first: a node that was replaced is of no generated file any more. */
	for (uint32_t i = 1; !rc && a.files.len && i < nr_nodes; i++)
		if (file_of(&a, i))
			skip_callers(&a, i, file_of(&a, i));
	for (uint32_t i = 1; !rc && a.files.len && i < nr_nodes; i++)
		if (file_of(&a, i))
			replace(&a, i, file_of(&a, i));
	for (size_t i = 0; i < a.files.len; i++) {
		vt_vector_release(&a.files.items[i].stretches);
		vt_vector_release(&a.files.items[i].frames);
	}
	vt_vector_release(&a.files);
	vt_map_release(&a.codes);
	free(a.file_of);
	return rc;
}
