/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report_changes.h"

#include <math.h>
#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

#define MAX_NAMED  3
#define MAX_LEAVES 5

struct change {
	const char *owner;
	size_t name_len; /* of the part that is printed */
	size_t name_at;
	double bytes;
};

VT_VECTOR_DECLARE(changes, struct change);

static size_t parent_length(const char *owner)
{
	return strcspn(owner, "/");
}

static void push_leaf(struct changes *leaves, const char *owner, double bytes)
{
	size_t parent = parent_length(owner);
	size_t at = owner[parent] ? parent + 1 : 0;
	struct change one = { owner, strlen(owner + at), at, bytes };

	vt_vector_push(leaves, one);
}

/* Lines are sorted by path in both. */
static void find_leaves(const struct vt_books *before, const struct vt_books *after,
			struct changes *leaves)
{
	uint32_t i = 0, k = 0;

	while (i < before->nr_lines || k < after->nr_lines) {
		const struct vt_books_line *b = i < before->nr_lines ? &before->lines[i] : NULL;
		const struct vt_books_line *a = k < after->nr_lines ? &after->lines[k] : NULL;
		int order = !b ? 1 : !a ? -1 : strcmp(b->owner, a->owner);

		push_leaf(leaves, order <= 0 ? b->owner : a->owner,
			  (order >= 0 ? (double)a->bytes : 0.0) -
				  (order <= 0 ? (double)b->bytes : 0.0));
		i += order <= 0;
		k += order >= 0;
	}
}

static void add_to_parents(struct changes *parents, const struct change *leaf)
{
	struct change one = { leaf->owner, parent_length(leaf->owner), 0, leaf->bytes };
	struct change *last = parents->len ? &parents->items[parents->len - 1] : NULL;

	if (last && last->name_len == one.name_len &&
	    !memcmp(last->owner, one.owner, one.name_len))
		last->bytes += one.bytes;
	else
		vt_vector_push(parents, one);
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (fabs(x->bytes) > fabs(y->bytes) || fabs(x->bytes) < fabs(y->bytes))
		return fabs(x->bytes) > fabs(y->bytes) ? -1 : 1;
	return strcmp(x->owner, y->owner);
}

static int is_shown(const struct change *change, struct vt_report_unit unit)
{
	return fabs(change->bytes) >= 0.005 * unit.bytes;
}

static int is_below(const struct change *leaf, const struct change *parent)
{
	return parent_length(leaf->owner) == parent->name_len &&
	       !memcmp(leaf->owner, parent->owner, parent->name_len);
}

/* " (mlp 9.00, norm 5.00, - embedding 0.62)"; signs where they differ from the parent's. */
static void add_leaves(struct vt_buffer *text, const struct changes *leaves,
		       const struct change *parent, struct vt_report_unit unit)
{
	unsigned nr = 0, named = 0;

	for (size_t i = 0; i < leaves->len; i++)
		nr += is_below(&leaves->items[i], parent) && is_shown(&leaves->items[i], unit);
	for (size_t i = 0; i < leaves->len && named < MAX_LEAVES; i++) {
		const struct change *leaf = &leaves->items[i];
		char figure[VT_REPORT_FIGURE_MAX];

		if (!is_below(leaf, parent) || !is_shown(leaf, unit))
			continue;
		if (nr == 1 && !leaf->name_at)
			return;
		vt_buffer_printf(text, "%s%s%.*s", named++ ? ", " : " (",
				 leaf->bytes * parent->bytes > 0 ? ""
				 : leaf->bytes > 0		 ? "+ "
								 : "- ",
				 leaf->name_at ? (int)leaf->name_len : 6,
				 leaf->name_at ? leaf->owner + leaf->name_at : "itself");
		/* An only child has its parent's figure. */
		if (nr > 1)
			vt_buffer_printf(text, " %s",
					 vt_report_sections_figure(figure, unit,
								   fabs(leaf->bytes)));
	}
	if (named)
		vt_buffer_puts(text, nr > named ? ", ...)" : ")");
}

char *vt_report_changes_text(const struct vt_books *before, const struct vt_books *after,
			     struct vt_report_unit unit)
{
	struct changes leaves = { 0 }, parents = { 0 };
	struct vt_buffer text;

	vt_buffer_init(&text);
	find_leaves(before, after, &leaves);
	for (size_t i = 0; i < leaves.len; i++)
		add_to_parents(&parents, &leaves.items[i]);
	if (leaves.len) {
		vt_vector_sort(&leaves, compare_changes);
		vt_vector_sort(&parents, compare_changes);
	}
	for (size_t i = 0; i < parents.len && i < MAX_NAMED; i++) {
		const struct change *c = &parents.items[i];
		char figure[VT_REPORT_FIGURE_MAX];

		if (!is_shown(c, unit))
			break;
		vt_buffer_printf(&text, "%s%s%.*s %s", i ? ", " : "",
				 !before->event	  ? ""
				 : c->bytes > 0 ? "+ "
						: "- ",
				 (int)c->name_len, c->owner,
				 vt_report_sections_figure(figure, unit, fabs(c->bytes)));
		add_leaves(&text, &leaves, c, unit);
	}
	vt_vector_release(&leaves);
	vt_vector_release(&parents);
	return vt_buffer_detach(&text);
}
