/* SPDX-License-Identifier: MIT */
#include "analyzer/export/snapshot_pickle.h"

#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/util.h"

void vt_snapshot_pickle_init(struct vt_snapshot_pickle *p, const struct vt_writer_job *job)
{
	memset(p, 0, sizeof(*p));
	p->job = job;
	p->frames = &job->analysis->model.frames;
	p->python = vt_xcalloc((size_t)p->frames->nr_python + 1, sizeof(*p->python));
	p->native = vt_xcalloc((size_t)p->frames->nr_native + 1, sizeof(*p->native));
	vt_pickle_begin(&p->pickle, job->out);
}

void vt_snapshot_pickle_release(struct vt_snapshot_pickle *p)
{
	free(p->python);
	free(p->native);
	vt_map_release(&p->stacks);
	vt_map_release(&p->forwards);
	vt_map_release(&p->texts);
}

void vt_snapshot_word(struct vt_snapshot_pickle *p, enum vt_snapshot_word word)
{
#define WORD(word) #word,
	static const char *const words[] = { VT_SNAPSHOT_WORDS(WORD) };
#undef WORD

	if (p->words[word]) {
		vt_pickle_get(&p->pickle, p->words[word] - 1);
		return;
	}
	vt_pickle_text(&p->pickle, words[word]);
	p->words[word] = vt_pickle_memo(&p->pickle) + 1;
}

void vt_snapshot_number(struct vt_snapshot_pickle *p, enum vt_snapshot_word key, uint64_t value)
{
	vt_snapshot_word(p, key);
	vt_pickle_int(&p->pickle, (int64_t)value);
}

void vt_snapshot_choice(struct vt_snapshot_pickle *p, enum vt_snapshot_word key,
			enum vt_snapshot_word value)
{
	vt_snapshot_word(p, key);
	vt_snapshot_word(p, value);
}

/* Refers to what is known under `key`; 0 where that is nothing. */
static int put_known(struct vt_snapshot_pickle *p, const struct vt_map *map, struct vt_key key)
{
	const uint64_t *number = vt_map_find(map, key);

	if (number)
		vt_pickle_get(&p->pickle, (uint32_t)*number);
	return number != NULL;
}

static void put_text(struct vt_snapshot_pickle *p, const char *text)
{
	struct vt_key key = { .a = vt_hash_text(text, strlen(text)) };

	if (put_known(p, &p->texts, key))
		return;
	vt_pickle_text(&p->pickle, text);
	vt_map_put(&p->texts, key, vt_pickle_memo(&p->pickle));
}

void vt_snapshot_text(struct vt_snapshot_pickle *p, enum vt_snapshot_word key, const char *text)
{
	vt_snapshot_word(p, key);
	put_text(p, text);
}

static void put_frame(struct vt_snapshot_pickle *p, uint32_t *number, const char *name,
		      const char *file, uint32_t line)
{
	if (*number) {
		vt_pickle_get(&p->pickle, *number - 1);
		return;
	}
	vt_pickle_dict(&p->pickle);
	vt_snapshot_text(p, VT_SNAPSHOT_name, name);
	vt_snapshot_text(p, VT_SNAPSHOT_filename, file);
	vt_snapshot_number(p, VT_SNAPSHOT_line, line);
	vt_pickle_dict_end(&p->pickle);
	*number = vt_pickle_memo(&p->pickle) + 1;
}

static void put_python(struct vt_snapshot_pickle *p, struct vt_pickle_list *list, uint32_t stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(p->frames, stack, ids);

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_code *code = vt_frames_code(p->frames, ids[i]);

		vt_pickle_item(&p->pickle, list);
		put_frame(p, &p->python[ids[i]], code->name, code->file,
			  p->frames->python[ids[i]].line);
	}
}

static void put_native(struct vt_snapshot_pickle *p, struct vt_pickle_list *list, uint32_t stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_native(p->frames, stack, ids);

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_frame_native *frame = &p->frames->native[ids[i]];
		const char *library = vt_frames_library(p->frames, ids[i]);
		char *name = frame->symbol ? vt_describe_symbol(frame->symbol)
					   : vt_xasprintf("%s+0x%llx", library,
							  (unsigned long long)frame->offset);

		vt_pickle_item(&p->pickle, list);
		put_frame(p, &p->native[ids[i]], name, frame->file ? frame->file : library,
			  frame->line);
		free(name);
	}
}

void vt_snapshot_frames(struct vt_snapshot_pickle *p, const struct vt_caller *caller)
{
	int is_native = p->job->describe.has_all_frames || !caller->python_stack;
	struct vt_key key = { .a = caller->python_stack,
			      .b = is_native ? caller->native_stack : 0 };
	struct vt_pickle_list list;

	vt_snapshot_word(p, VT_SNAPSHOT_frames);
	if (put_known(p, &p->stacks, key))
		return;
	vt_pickle_list(&p->pickle);
	vt_map_put(&p->stacks, key, vt_pickle_memo(&p->pickle));
	vt_pickle_items(&p->pickle, &list);
	if (is_native)
		put_native(p, &list, caller->native_stack);
	put_python(p, &list, caller->python_stack);
	vt_pickle_items_end(&p->pickle);
}

void vt_snapshot_forward(struct vt_snapshot_pickle *p, uint32_t python_stack)
{
	struct vt_key key = { .a = python_stack };
	struct vt_pickle_list list;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(p->frames, python_stack, ids);

	if (!nr)
		return;
	vt_snapshot_word(p, VT_SNAPSHOT_forward_frames);
	if (put_known(p, &p->forwards, key))
		return;
	vt_pickle_list(&p->pickle);
	vt_map_put(&p->forwards, key, vt_pickle_memo(&p->pickle));
	vt_pickle_items(&p->pickle, &list);
	/* The outermost first, as Python prints them. */
	while (nr--) {
		const struct vt_code *code = vt_frames_code(p->frames, ids[nr]);
		char *line = vt_xasprintf("  File \"%s\", line %u, in %s\n", code->file,
					  p->frames->python[ids[nr]].line, code->name);

		vt_pickle_item(&p->pickle, &list);
		put_text(p, line);
		free(line);
	}
	vt_pickle_items_end(&p->pickle);
}
