/* SPDX-License-Identifier: MIT */
#include "analyzer/model/variables.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "common/kinds.h"

static const char *text_of(const struct vt_names *names, uint32_t id)
{
	const char *text = vt_model_text(names->model, id);

	return text ? text : "";
}

static size_t count_dots(const char *name)
{
	size_t nr = 0;

	for (; *name; name++)
		nr += *name == '.';
	return nr;
}

static int is_private(const char *name)
{
	return *name == '_' || strcmp(name, "Out") == 0 || strncmp(name, "Out.", 4) == 0;
}

static int is_preferred(const struct vt_names *names, const struct vt_tensor *x,
			const struct vt_tensor *y)
{
	const char *one = text_of(names, x->name), *other = text_of(names, y->name);
	size_t dots = count_dots(one), other_dots = count_dots(other);
	int order;

	if (!dots != !other_dots)
		return dots > 0;
	if (is_private(one) != is_private(other))
		return is_private(other);
	if (dots != other_dots)
		return dots < other_dots;
	order = strcmp(one, other);
	if (!order)
		order = strcmp(text_of(names, x->holder), text_of(names, y->holder));
	return order < 0;
}

const struct vt_tensor *vt_variables_row(const struct vt_names *names, uint32_t allocation)
{
	const struct vt_tensor *found = NULL;
	uint32_t nr;
	const uint32_t *rows = vt_names_rows(names, allocation, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_tensor *tensor = &names->model->tensors[rows[i]];

		if (tensor->role == VT_ROLE_VARIABLE &&
		    (!found || is_preferred(names, tensor, found)))
			found = tensor;
	}
	return found;
}

static struct vt_key site_of(const struct vt_names *names, uint32_t allocation)
{
	const struct vt_allocation *a = &names->model->allocations[allocation];

	return (struct vt_key){ .a = a->common->made->python_stack,
				.b = a->common->made->native_stack,
				.c = vt_allocation_asked_bytes(a) };
}

/* The value of a site: its row, and whether each of its tensors has a separate variable. */
#define IS_SEVERAL (1ull << 32)

static int are_plain(const struct vt_names *names, const struct vt_tensor *x,
		     const struct vt_tensor *y)
{
	return !strchr(text_of(names, x->name), '.') && !strchr(text_of(names, y->name), '.');
}

void vt_variables_init(struct vt_variables *variables, const struct vt_names *names)
{
	const struct vt_tensor *all = names->model->tensors;

	memset(variables, 0, sizeof(*variables));
	variables->names = names;

	for (uint32_t i = 0; i < names->model->nr_allocations; i++) {
		const struct vt_tensor *row = vt_variables_row(names, i), *best;
		uint64_t is_several = 0;
		const uint64_t *known;
		struct vt_key site;

		/* Few of the millions have one. */
		if (!row)
			continue;
		site = site_of(names, i);
		if (!site.a)
			continue;
		known = vt_map_find(&variables->sites, site);
		best = known ? &all[(uint32_t)*known] : row;
		if (known && best->probe == row->probe && best->name != row->name &&
		    are_plain(names, best, row))
			is_several = IS_SEVERAL;
		if (is_preferred(names, row, best))
			best = row;
		vt_map_put(&variables->sites, site,
			   (uint64_t)(best - all) | is_several | (known ? *known & IS_SEVERAL : 0));
	}
}

void vt_variables_release(struct vt_variables *variables)
{
	vt_map_release(&variables->sites);
}

/* The row that an allocation has its variable from; NULL: none. */
static const struct vt_tensor *row_of(const struct vt_variables *variables, uint32_t allocation)
{
	const struct vt_names *names = variables->names;
	const struct vt_tensor *own = vt_variables_row(names, allocation), *best;
	const uint64_t *known = vt_map_find(&variables->sites, site_of(names, allocation));

	if (!known)
		return own;
	best = &names->model->tensors[(uint32_t)*known];
	return *known & IS_SEVERAL && !strchr(text_of(names, best->name), '.') ? own : best;
}

char *vt_variables_root(const struct vt_names *names, const struct vt_tensor *row)
{
	const char *name = vt_model_text(names->model, row->name);
	size_t len;

	if (!name)
		return NULL;
	len = strcspn(name, ".");
	/* An object's own variable says more than the object. */
	if (name[len] && strncmp(name, "self.", len + 1) == 0)
		len += 1 + strcspn(name + len + 1, ".");
	return vt_xstrndup(name, len);
}

char *vt_variables_name(const struct vt_variables *variables, uint32_t allocation)
{
	const struct vt_tensor *row = row_of(variables, allocation);

	return row ? vt_variables_root(variables->names, row) : NULL;
}
