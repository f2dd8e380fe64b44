/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/calls/operators.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/util.h"

/* Marks a stack that has no operator. */
static char no_operator[] = "";

void vt_operators_init(struct vt_operators *operators, const struct vt_model *model,
		       const struct vt_rules *rules)
{
	operators->model = model;
	operators->rules = rules;
	operators->names =
		vt_xcalloc(model->frames.native_tree.nr_stacks + 1, sizeof(*operators->names));
	operators->classes = vt_xcalloc(model->strings.nr + 1, sizeof(*operators->classes));
}

static void free_name(char *name)
{
	if (name != no_operator)
		free(name);
}

void vt_operators_release(struct vt_operators *operators)
{
	if (!operators->model)
		return;
	for (uint32_t i = 0; i < operators->model->frames.native_tree.nr_stacks; i++)
		free_name(operators->names[i]);
	for (uint32_t i = 0; i < operators->model->strings.nr; i++)
		free(operators->classes[i]);
	free(operators->names);
	free(operators->classes);
	memset(operators, 0, sizeof(*operators));
}

/* The operator that a symbol is the entry of, as the caller's copy. */
static char *operator_of(const char *symbol)
{
	static const char prefix[] = "at::_ops::";
	const char *start = symbol ? strstr(symbol, prefix) : NULL;
	const char *end;

	if (!start)
		return NULL;
	start += strlen(prefix);
	end = strstr(start, "::");
	return end ? vt_xstrndup(start, (size_t)(end - start)) : NULL;
}

static char *find_operator(const struct vt_operators *operators, uint32_t native_stack)
{
	const struct vt_frames *frames = &operators->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_native(frames, native_stack, ids);
	char *plumbing = NULL;

	for (unsigned i = 0; i < nr; i++) {
		char *name = operator_of(frames->native[ids[i]].symbol);

		if (!name)
			continue;
		/*
		 * empty() below addmm() is how addmm() gets its output; alone it is what was
		 * called.
		 */
		if (!vt_globs_match(&operators->rules->plumbing, name)) {
			free(plumbing);
			return name;
		}
		free(plumbing);
		plumbing = name;
	}
	return plumbing;
}

/* Takes `name`; what another thread found first is the same. */
static char *keep(_Atomic(char *) *at, char *name)
{
	char *known = NULL;

	if (atomic_compare_exchange_strong(at, &known, name))
		return name;
	free_name(name);
	return known;
}

const char *vt_operators_name(const struct vt_operators *operators, uint32_t native_stack)
{
	char *name;

	if (native_stack >= operators->model->frames.native_tree.nr_stacks)
		return NULL;
	name = operators->names[native_stack];
	if (!name) {
		name = find_operator(operators, native_stack);
		name = keep(&operators->names[native_stack], name ? name : no_operator);
	}
	return name == no_operator ? NULL : name;
}

int vt_operators_has(const struct vt_operators *operators, uint32_t native_stack,
		     const struct vt_globs *globs)
{
	const struct vt_frames *frames = &operators->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_native(frames, native_stack, ids);
	int is_found = 0;

	for (unsigned i = 0; i < nr && !is_found; i++) {
		char *name = operator_of(frames->native[ids[i]].symbol);

		is_found = name && vt_globs_match(globs, name);
		free(name);
	}
	return is_found;
}

/*
 * A nested name is a run of <length><identifier>; the last one is the class, template arguments end
 * it.
 */
static char *last_component(const char *text)
{
	const char *found = NULL;
	size_t found_len = 0;

	while (isdigit((unsigned char)*text)) {
		char *identifier;
		size_t len = strtoul(text, &identifier, 10);

		if (strnlen(identifier, len) < len)
			break;
		found = identifier;
		found_len = len;
		text = identifier + len;
	}
	return found ? vt_xstrndup(found, found_len) : NULL;
}

char *vt_operators_short_class(const char *rtti)
{
	const char *text = rtti[0] == '*' ? rtti + 1 : rtti;
	const char *colons = strrchr(text, ':');
	char *name = NULL;

	if (text[0] == 'N' || isdigit((unsigned char)text[0]))
		name = last_component(text[0] == 'N' ? text + 1 : text);
	return name ? name : vt_xstrdup(colons ? colons + 1 : text);
}

const char *vt_operators_class(const struct vt_operators *operators, uint32_t string)
{
	const char *rtti = vt_model_text(operators->model, string);
	char *name;

	if (!rtti)
		return NULL;
	name = operators->classes[string];
	return name ? name : keep(&operators->classes[string], vt_operators_short_class(rtti));
}
