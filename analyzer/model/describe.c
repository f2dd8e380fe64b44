/* SPDX-License-Identifier: MIT */
#include "analyzer/model/describe.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/model/cells.h"

void vt_describe_init(struct vt_describe *describe, const struct vt_model *model,
		      int has_all_frames)
{
	char *directory = vt_db_run_get(model->db, "cwd");

	describe->model = model;
	describe->has_all_frames = has_all_frames;
	describe->directory = directory ? vt_xasprintf("%s/", directory) : NULL;
	free(directory);
}

void vt_describe_release(struct vt_describe *describe)
{
	free(describe->directory);
	memset(describe, 0, sizeof(*describe));
}

/* After the last "/site-packages/" or "/dist-packages/"; NULL: the file is in neither. */
const char *vt_describe_package(const char *file)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(folders); i++) {
		const char *found = strstr(file, folders[i]);

		if (found)
			return found + strlen(folders[i]);
	}
	return NULL;
}

/* After ".../lib/python3.11/"; NULL: not part of an interpreter. */
static const char *in_library(const char *file)
{
	static const char folder[] = "/lib/python3.";
	const char *found = strstr(file, folder);

	if (!found)
		return NULL;
	found += strlen(folder);
	while (isdigit((unsigned char)*found) || *found == 't')
		found++;
	return *found == '/' ? found + 1 : NULL;
}

int vt_describe_is_simulator(const char *file)
{
	return strcmp(file, "<vtrace-simulator>") == 0;
}

int vt_describe_is_framework(const char *file)
{
	/* PyTorch, and what runs the cells of a notebook. */
	static const char *const packages[] = {
		"torch/",     "functorch/", "IPython/", "ipykernel/", "ipykernel_launcher.py",
		"traitlets/", "tornado/",
	};
	const char *package = vt_describe_package(file);

	if (!package)
		return in_library(file) != NULL || strncmp(file, "<frozen ", 8) == 0 ||
		       vt_describe_is_simulator(file);
	for (size_t i = 0; i < VT_ARRAY_SIZE(packages); i++)
		if (strncmp(package, packages[i], strlen(packages[i])) == 0)
			return 1;
	return 0;
}

const char *vt_describe_file(const struct vt_describe *describe, const char *file)
{
	const char *inner = vt_describe_package(file);

	if (!inner)
		inner = in_library(file);
	if (inner)
		return inner;
	if (describe->directory &&
	    strncmp(file, describe->directory, strlen(describe->directory)) == 0)
		return file + strlen(describe->directory);
	return file;
}

char *vt_describe_frame(const struct vt_describe *describe, uint32_t frame)
{
	const struct vt_frames *frames = &describe->model->frames;
	const struct vt_code *code = vt_frames_code(frames, frame);

	return vt_xasprintf("%s%s%u %s", vt_describe_file(describe, code->file),
			    vt_cells_is_cell(code->file) ? ", line " : ":",
			    frames->python[frame].line, code->name);
}

unsigned vt_describe_visible(const struct vt_describe *describe, uint32_t stack, uint32_t *ids)
{
	const struct vt_frames *frames = &describe->model->frames;
	unsigned nr = vt_frames_python(frames, stack, ids), kept = 0;

	for (unsigned i = 0; i < nr; i++)
		if (describe->has_all_frames ||
		    !vt_describe_is_framework(vt_frames_code(frames, ids[i])->file))
			ids[kept++] = ids[i];
	return kept ? kept : nr > 0;
}

/* Outside of what is shown there were more frames. */
static const char cut[] = "[truncated here, callers are unknown]";

struct vt_lines vt_describe_python(const struct vt_describe *describe, uint32_t stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_describe_visible(describe, stack, ids);
	struct vt_lines lines = { vt_xcalloc(nr + 1, sizeof(char *)), nr };

	for (unsigned i = 0; i < nr; i++)
		lines.text[i] = vt_describe_frame(describe, ids[i]);
	if (vt_frames_python(&describe->model->frames, stack, ids) == VT_STACK_MAX_FRAMES)
		lines.text[lines.nr++] = vt_xstrdup(cut);
	return lines;
}

uint32_t vt_describe_own_frame(const struct vt_describe *describe, uint32_t stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(&describe->model->frames, stack, ids);

	for (unsigned i = 0; i < nr; i++) {
		const char *file = vt_frames_code(&describe->model->frames, ids[i])->file;

		if (!vt_describe_is_framework(file) && !vt_describe_package(file))
			return ids[i];
	}
	return VT_NO_INDEX;
}

/* Template arguments longer than this say less than the room they take. */
#define MAX_TEMPLATE_CHARS 32

/* Where the '<' at `open` ends; the end of the text where it does not. */
static size_t end_of_template(const char *symbol, size_t open)
{
	size_t depth = 0, i;

	for (i = open; symbol[i]; i++) {
		depth += symbol[i] == '<';
		if (symbol[i] == '>' && symbol[i - 1] != '-' && --depth == 0)
			return i + 1;
	}
	return i;
}

char *vt_describe_symbol(const char *symbol)
{
	static const char *const whole[] = { "(anonymous namespace)", "operator()", "operator<<",
					     "operator<=", "operator<" };
	struct vt_buffer text;
	size_t i = 0, k, end;

	vt_buffer_init(&text);
	while (symbol[i] && (symbol[i] != '(' || !i || !strncmp(symbol + i, whole[0], 21))) {
		for (k = 0; k < VT_ARRAY_SIZE(whole); k++)
			if (strncmp(symbol + i, whole[k], strlen(whole[k])) == 0)
				break;
		end = i + (k < VT_ARRAY_SIZE(whole) ? strlen(whole[k]) : 1);
		if (k == VT_ARRAY_SIZE(whole) && symbol[i] == '<' && i) {
			end = end_of_template(symbol, i);
			if (end - i > MAX_TEMPLATE_CHARS) {
				vt_buffer_puts(&text, "<...>");
				i = end;
				continue;
			}
		}
		vt_buffer_append(&text, symbol + i, end - i);
		i = end;
	}
	return vt_buffer_detach(&text);
}

static char *native_text(const struct vt_describe *describe, uint32_t id)
{
	const struct vt_frames *frames = &describe->model->frames;
	const struct vt_frame_native *frame = &frames->native[id];
	const char *library = vt_frames_library(frames, id);
	char *symbol, *text;

	if (!frame->module && frame->offset == VT_STACK_CUT)
		return vt_xstrdup(cut);
	/* Nothing says how to find its caller: what is outside of it may be wrong. */
	if (!frame->module)
		return vt_xasprintf("[code outside any file, callers are guessed]+0x%llx",
				    (unsigned long long)frame->offset);
	if (!frame->symbol)
		return vt_xasprintf("%s+0x%llx", library, (unsigned long long)frame->offset);
	symbol = vt_describe_symbol(frame->symbol);
	if (frame->file && frame->line)
		text = vt_xasprintf("%s!%s %s:%u", library, symbol,
				    vt_describe_file(describe, frame->file), frame->line);
	else
		text = vt_xasprintf("%s!%s+0x%llx", library, symbol,
				    (unsigned long long)frame->offset);
	free(symbol);
	return text;
}

/*
 * Frames that every allocation of PyTorch has: its caching allocator, its dispatcher's glue, the
 * interpreter, our own hook around a backward node.  What is left names the operator and who
 * called it.
 */
static int is_glue(const struct vt_frames *frames, uint32_t id)
{
	static const char *const libraries[] = { "libc10",  "libpython", "python3",
						 "libc.so", "ld-linux",	 "libvtrace.so" };
	static const char *const symbols[] = {
		"c10::impl::", "at::detail::empty_",
		"at::(anonymous namespace)::(anonymous namespace)::wrapper_"
	};
	const char *symbol = frames->native[id].symbol;

	for (size_t i = 0; i < VT_ARRAY_SIZE(libraries); i++)
		if (strncmp(vt_frames_library(frames, id), libraries[i], strlen(libraries[i])) == 0)
			return 1;
	for (size_t i = 0; symbol && i < VT_ARRAY_SIZE(symbols); i++)
		if (strncmp(symbol, symbols[i], strlen(symbols[i])) == 0 ||
		    strstr(symbol, "c10::impl::wrap_kernel_functor"))
			return 1;
	return 0;
}

struct vt_lines vt_describe_native(const struct vt_describe *describe, uint32_t stack)
{
	const struct vt_frames *frames = &describe->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_native(frames, stack, ids);
	struct vt_lines lines = { vt_xcalloc(nr + 1, sizeof(char *)), 0 };

	for (unsigned i = 0; i < nr; i++)
		if (describe->has_all_frames || !is_glue(frames, ids[i]))
			lines.text[lines.nr++] = native_text(describe, ids[i]);
	if (!lines.nr && nr)
		lines.text[lines.nr++] = native_text(describe, ids[0]);
	return lines;
}
