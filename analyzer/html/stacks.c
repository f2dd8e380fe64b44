/* SPDX-License-Identifier: MIT */
#include "analyzer/html/stacks.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/model/producer.h"
#include "analyzer/output/json.h"

static void init_tree(struct vt_page_tree *tree)
{
	vt_vector_push(&tree->parents, 0);
	vt_vector_push(&tree->texts, 0);
}

static void release_tree(struct vt_page_tree *tree)
{
	vt_vector_release(&tree->parents);
	vt_vector_release(&tree->texts);
	vt_map_release(&tree->nodes);
	vt_map_release(&tree->leaves);
}

void vt_page_stacks_init(struct vt_page_stacks *stacks, const struct vt_describe *describe,
			 struct vt_sources *sources, struct vt_page_strings *strings)
{
	memset(stacks, 0, sizeof(*stacks));
	stacks->describe = describe;
	stacks->sources = sources;
	stacks->strings = strings;
	stacks->lines = json_object();
	init_tree(&stacks->python);
	init_tree(&stacks->native);
}

void vt_page_stacks_release(struct vt_page_stacks *stacks)
{
	release_tree(&stacks->python);
	release_tree(&stacks->native);
	json_decref(stacks->lines);
}

static uint32_t child(struct vt_page_tree *tree, uint32_t parent, uint32_t text)
{
	const struct vt_key key = { parent, text, 0 };
	const uint64_t *found = vt_map_find(&tree->nodes, key);
	uint32_t node = (uint32_t)tree->parents.len;

	if (found)
		return (uint32_t)*found;
	vt_vector_push(&tree->parents, parent);
	vt_vector_push(&tree->texts, text);
	vt_map_put(&tree->nodes, key, node);
	return node;
}

static void keep_source(struct vt_page_stacks *stacks, uint32_t text, uint32_t python_frame)
{
	char key[16], *source;

	snprintf(key, sizeof(key), "%u", text);
	if (json_object_get(stacks->lines, key))
		return;
	source = vt_sources_line(stacks->sources, python_frame);
	json_object_set_new(stacks->lines, key, vt_json_text(source));
	free(source);
}

/* What autograd's node made, is at the forward line, and says so. */
static uint32_t add_python(struct vt_page_stacks *stacks, uint32_t stack, int is_backward)
{
	struct vt_lines lines = vt_describe_python(stacks->describe, stack);
	uint32_t ids[VT_FRAMES_MAX], node = 0;
	unsigned nr = vt_describe_visible(stacks->describe, stack, ids);

	for (unsigned i = lines.nr; i-- > 0;) {
		char *marked = is_backward && !i ? vt_xasprintf("backward of %s", lines.text[i])
						 : NULL;
		uint32_t text = vt_page_strings_number(stacks->strings,
						       marked ? marked : lines.text[i]);

		if (i < nr)
			keep_source(stacks, text, ids[i]);
		node = child(&stacks->python, node, text);
		free(marked);
	}
	vt_lines_free(&lines);
	return node;
}

uint32_t vt_page_stacks_python(struct vt_page_stacks *stacks, const struct vt_allocation *a)
{
	uint32_t stack = vt_producer_stack(stacks->describe->model, a);
	int is_backward = stack != a->common->made->python_stack;
	const struct vt_key key = { stack, (uint64_t)is_backward, 0 };
	const uint64_t *found = vt_map_find(&stacks->python.leaves, key);
	uint32_t node;

	if (found)
		return (uint32_t)*found;
	node = add_python(stacks, stack, is_backward);
	vt_map_put(&stacks->python.leaves, key, node);
	return node;
}

uint32_t vt_page_stacks_native(struct vt_page_stacks *stacks, const struct vt_allocation *a)
{
	const struct vt_key key = { a->common->made->native_stack, 0, 0 };
	const uint64_t *found = vt_map_find(&stacks->native.leaves, key);
	struct vt_lines lines;
	uint32_t node = 0;

	if (found)
		return (uint32_t)*found;
	lines = vt_describe_native(stacks->describe, a->common->made->native_stack);
	for (unsigned i = lines.nr; i-- > 0;)
		node = child(&stacks->native, node,
			     vt_page_strings_number(stacks->strings, lines.text[i]));
	vt_lines_free(&lines);
	vt_map_put(&stacks->native.leaves, key, node);
	return node;
}

static void pack_tree(const struct vt_page_tree *tree, const char *name, struct vt_pack *pack)
{
	vt_pack_begin(pack, "%s.parent", name);
	for (size_t i = 0; i < tree->parents.len; i++)
		vt_pack_put(pack, tree->parents.items[i]);
	vt_pack_end(pack);
	vt_pack_begin(pack, "%s.text", name);
	for (size_t i = 0; i < tree->texts.len; i++)
		vt_pack_put(pack, tree->texts.items[i]);
	vt_pack_end(pack);
}

void vt_page_stacks_json(const struct vt_page_stacks *stacks, struct vt_pack *pack, json_t *object)
{
	pack_tree(&stacks->python, "python", pack);
	pack_tree(&stacks->native, "native", pack);
	json_object_set(object, "lines", stacks->lines);
}
