/* SPDX-License-Identifier: MIT */
#include "analyzer/report/groups.h"

#include <string.h>

#include "analyzer/attribution/inference/module_path.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/output/json.h"
#include "analyzer/output/table.h"

#define WORD(name, text) text,
static const char *const words[VT_NR_GROUPS_BY] = { VT_GROUPS_BY(WORD) };

int vt_groups_parse(const char *word, enum vt_groups_by *by)
{
	for (int i = 0; i < VT_NR_GROUPS_BY; i++)
		if (strcmp(word, words[i]) == 0) {
			*by = (enum vt_groups_by)i;
			return 0;
		}
	return -1;
}

static char *name_of(struct vt_blocks *blocks, uint32_t allocation, enum vt_groups_by by)
{
	struct vt_analysis *analysis = blocks->analysis;
	struct vt_verdict verdict;
	char *path, *folded;

	if (by == VT_GROUPS_BY_OWNER) {
		verdict = vt_attribution_judge(&analysis->attribution, allocation);
		return vt_xstrdup(vt_attribution_owner(&analysis->attribution, verdict.owner));
	}
	path = vt_module_path_module(&analysis->facts, &analysis->model.allocations[allocation]);
	folded = path ? vt_module_path_fold(path) : NULL;
	free(path);
	return folded;
}

static int compare_names(const void *a, const void *b)
{
	const struct vt_group *x = a, *y = b;

	if (!x->name || !y->name)
		return !x->name - !y->name;
	return strcmp(x->name, y->name);
}

static int compare_bytes(const void *a, const void *b)
{
	const struct vt_group *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return compare_names(a, b);
}

static void join(void *into, void *from)
{
	struct vt_group *last = into, *group = from;

	last->bytes += group->bytes;
	last->blocks += group->blocks;
	free(group->name);
}

void vt_groups_init(struct vt_groups *groups, struct vt_blocks *blocks, enum vt_groups_by by)
{
	memset(groups, 0, sizeof(*groups));
	groups->by = by;
	groups->items = vt_xcalloc((size_t)blocks->nr + 1, sizeof(*groups->items));
	for (uint32_t i = 0; i < blocks->nr; i++) {
		const struct vt_allocation *a =
			&blocks->analysis->model.allocations[blocks->allocations[i]];
		struct vt_group *group = &groups->items[groups->nr];

		/* Its blocks are in the list, too. */
		if (a->holds_blocks)
			continue;
		group->name = name_of(blocks, blocks->allocations[i], by);
		group->bytes = a->common->size_bytes;
		group->blocks = 1;
		groups->nr++;
	}
	groups->nr = (uint32_t)vt_group(groups->items, groups->nr, compare_names, join);
	vt_sort(groups->items, groups->nr, compare_bytes);
}

void vt_groups_release(struct vt_groups *groups)
{
	for (uint32_t i = 0; i < groups->nr; i++)
		free(groups->items[i].name);
	free(groups->items);
	memset(groups, 0, sizeof(*groups));
}

void vt_groups_print_text(const struct vt_groups *groups, const struct vt_blocks *blocks, FILE *out)
{
	const struct vt_column columns[] = {
		{ words[groups->by], 0 }, { "size", 1 }, { "%", 1 }, { "blocks", 1 },
	};
	struct vt_table table;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < groups->nr; i++)
		sum += groups->items[i].bytes;
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (uint32_t i = 0; i < groups->nr; i++) {
		const struct vt_group *group = &groups->items[i];
		char size[VT_UNITS_MAX], share[VT_UNITS_MAX], count[VT_UNITS_MAX];
		const char *name = !group->name ? "(none)" : *group->name ? group->name : "(root)";
		const char *cells[] = { name, size, share, count };

		vt_units_bytes(size, sizeof(size), group->bytes);
		snprintf(share, sizeof(share), "%.1f",
			 100.0 * (double)group->bytes / (double)(sum ? sum : 1));
		vt_units_count(count, sizeof(count), group->blocks);
		vt_table_add(&table, cells);
	}
	if (groups->nr)
		vt_table_print(&table, out, 0);
	vt_table_release(&table);
	if (groups->by == VT_GROUPS_BY_MODULE && !blocks->analysis->model.nr_probes)
		fprintf(out,
			"the probe did not run (VTRACE_PROBE=0, or no PyTorch): modules have no "
			"names\n");
}

void vt_groups_print_json(const struct vt_groups *groups, const struct vt_blocks *blocks, FILE *out)
{
	json_t *object = json_object(), *array = json_array();

	for (uint32_t i = 0; i < groups->nr; i++) {
		const struct vt_group *group = &groups->items[i];
		json_t *item = vt_json_append_object(array);

		vt_json_set(item, words[groups->by], group->name);
		vt_json_set(item, "bytes", group->bytes);
		vt_json_set(item, "blocks", group->blocks);
	}
	vt_json_set(object, "format", 1);
	vt_json_set(object, "at", vt_blocks_moment_json(blocks));
	vt_json_set(object, "by", words[groups->by]);
	vt_json_set(object, "groups", array);
	vt_json_print(object, out);
}
