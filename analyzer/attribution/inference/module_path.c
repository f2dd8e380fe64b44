/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/module_path.h"

#include <string.h>

#include "analyzer/base/util.h"

/* The row of the innermost module of a Python stack that a probe saw; NULL: of none. */
static const struct vt_torch_module *find_of_stack(const struct vt_facts *facts,
						   uint32_t python_stack, int64_t event)
{
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(&facts->stages->module_stacks, python_stack, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_torch_module *module = vt_names_module(
			&facts->names, links[i].address, links[i].type, event);

		if (module)
			return module;
	}
	return NULL;
}

/* Drops the last `nr` parts. */
static char *cut(char *path, unsigned nr)
{
	while (nr--) {
		char *dot = strrchr(path, '.');

		*(dot ? dot : path) = '\0';
	}
	return path;
}

static int is_number(const char *text, size_t len)
{
	return len && strspn(text, "0123456789") >= len;
}

/* PATH.PARAMETER; of a state PATH.PARAMETER.KEY, with one more part where the key holds a list. */
static unsigned parts_behind_path(const struct vt_tensor *tensor, const char *path)
{
	const char *last = strrchr(path, '.');

	if (tensor->role != VT_ROLE_OPTIMIZER)
		return 1;
	return last && is_number(last + 1, strlen(last + 1)) ? 3 : 2;
}

struct vt_module_path_source vt_module_path_source(const struct vt_facts *facts,
						   const struct vt_allocation *a)
{
	const uint32_t in_module = 1u << VT_ROLE_PARAMETER | 1u << VT_ROLE_BUFFER |
				   1u << VT_ROLE_GRADIENT | 1u << VT_ROLE_OPTIMIZER;
	uint32_t index = (uint32_t)(a - facts->model->allocations);
	struct vt_module_path_source source = {
		.tensor = vt_names_find(&facts->names, index, in_module),
	};

	if (!source.tensor)
		source.tensor = vt_facts_parameter(facts, a);
	if (source.tensor)
		return source;
	source.module = find_of_stack(facts, a->common->made->python_stack, a->event);
	if (!source.module)
		source.module =
			find_of_stack(facts, a->common->made->forward_python_stack, a->event);
	return source;
}

char *vt_module_path_of(const struct vt_facts *facts, struct vt_module_path_source source)
{
	char *path;

	if (!source.tensor)
		return source.module ? vt_names_module_path(&facts->names, source.module) : NULL;
	path = vt_names_tensor_path(&facts->names, source.tensor);
	return cut(path, parts_behind_path(source.tensor, path));
}

char *vt_module_path_module(const struct vt_facts *facts, const struct vt_allocation *a)
{
	return vt_module_path_of(facts, vt_module_path_source(facts, a));
}

char *vt_module_path_fold(const char *path)
{
	struct vt_buffer folded;

	vt_buffer_init(&folded);
	for (const char *at = path; *at;) {
		size_t len = strcspn(at, ".");

		if (is_number(at, len))
			vt_buffer_puts(&folded, "*");
		else
			vt_buffer_append(&folded, at, len);
		at += len;
		if (*at)
			vt_buffer_append(&folded, at++, 1);
	}
	return vt_buffer_detach(&folded);
}
