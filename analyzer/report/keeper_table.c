/* SPDX-License-Identifier: MIT */
#include "analyzer/report/keeper_table.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/output/json.h"
#include "analyzer/output/table.h"

/* Details below one keeper; a deep model has as many as it has kinds of layers, and some lines. */
#define MOST_DETAILS 8

static int compare_text(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static int compare_keepers(const void *a, const void *b)
{
	const struct vt_keeper_line *x = a, *y = b;

	if (x->keeper != y->keeper)
		return x->keeper < y->keeper ? -1 : 1;
	return compare_text(x->detail, y->detail);
}

static int compare_bytes(const void *a, const void *b)
{
	const struct vt_keeper_line *x = a, *y = b;

	if (x->keeper != y->keeper)
		return x->keeper < y->keeper ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return compare_text(x->detail, y->detail);
}

static void join(void *into, void *from)
{
	struct vt_keeper_line *last = into, *line = from;

	last->bytes += line->bytes;
	last->blocks += line->blocks;
	free(line->detail);
}

void vt_keeper_table_init(struct vt_keeper_table *table, const struct vt_report *report,
			  const struct vt_report_device *row)
{
	const struct vt_model *model = &report->analysis->model;
	VT_VECTOR(struct vt_keeper_line) lines = { 0 };

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		struct vt_keeper_line line = { .bytes = a->common->size_bytes, .blocks = 1 };

		if (a->common->device != row->device->id || !vt_allocation_is_owned(a) ||
		    !vt_allocation_is_live(a, row->chosen.place.event))
			continue;
		line.keeper = vt_keepers_find(&report->analysis->attribution, &report->describe, i,
					      &line.detail);
		vt_vector_push(&lines, line);
	}
	table->lines = lines.items;
	table->nr = (uint32_t)vt_group(lines.items, lines.len, compare_keepers, join);
	vt_sort(table->lines, table->nr, compare_bytes);
}

void vt_keeper_table_release(struct vt_keeper_table *table)
{
	for (uint32_t i = 0; i < table->nr; i++)
		free(table->lines[i].detail);
	free(table->lines);
	memset(table, 0, sizeof(*table));
}

/* All lines of one keeper. */
struct group {
	const struct vt_keeper_line *lines;
	uint32_t nr;
	uint64_t bytes;
	uint32_t blocks;
};

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->lines < y->lines ? -1 : x->lines > y->lines;
}

static uint32_t find_groups(const struct vt_keeper_table *table, struct group *groups)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < table->nr; i++) {
		const struct vt_keeper_line *line = &table->lines[i];

		if (!nr || groups[nr - 1].lines->keeper != line->keeper)
			groups[nr++] = (struct group){ .lines = line };
		groups[nr - 1].nr++;
		groups[nr - 1].bytes += line->bytes;
		groups[nr - 1].blocks += line->blocks;
	}
	vt_sort(groups, nr, compare_groups);
	return nr;
}

struct printer {
	struct vt_table table;
	struct vt_report_unit unit;
	uint64_t sum;
};

static void add_row(struct printer *printer, const char *name, uint64_t bytes, uint32_t blocks)
{
	char figure[VT_REPORT_FIGURE_MAX], share[VT_REPORT_FIGURE_MAX] = "";
	char count[VT_UNITS_MAX];
	const char *cells[] = { name, figure, share, count };

	vt_report_sections_figure(figure, printer->unit, (double)bytes);
	if (printer->sum)
		snprintf(share, sizeof(share), "%.1f",
			 100.0 * (double)bytes / (double)printer->sum);
	vt_units_count(count, sizeof(count), blocks);
	vt_table_add(&printer->table, cells);
}

static void add_details(struct printer *printer, const struct group *group)
{
	struct vt_keeper_line rest = { 0 };
	uint32_t nr_rest = 0;
	char *name;

	if (group->nr == 1 && !group->lines->detail)
		return;
	for (uint32_t i = 0; i < group->nr; i++) {
		const struct vt_keeper_line *line = &group->lines[i];

		if (i >= MOST_DETAILS) {
			rest.bytes += line->bytes;
			rest.blocks += line->blocks;
			nr_rest++;
			continue;
		}
		name = vt_xasprintf("  %s", line->detail ? line->detail : "(no more is known)");
		add_row(printer, name, line->bytes, line->blocks);
		free(name);
	}
	if (!nr_rest)
		return;
	name = vt_xasprintf("  %u more", nr_rest);
	add_row(printer, name, rest.bytes, rest.blocks);
	free(name);
}

void vt_keeper_table_print(const struct vt_keeper_table *table, struct vt_report_unit unit,
			   FILE *out)
{
	const struct vt_column columns[] = {
		{ "kept by", 0 }, { unit.name, 1 }, { "%", 1 }, { "blocks", 1 }
	};
	struct printer printer = { .unit = unit };
	struct group groups[VT_NR_KEEPERS];
	uint32_t nr = find_groups(table, groups), blocks = 0;

	for (uint32_t i = 0; i < nr; i++) {
		printer.sum += groups[i].bytes;
		blocks += groups[i].blocks;
	}
	vt_table_init(&printer.table, columns, VT_ARRAY_SIZE(columns));
	for (uint32_t i = 0; i < nr; i++) {
		add_row(&printer, vt_keepers_words[groups[i].lines->keeper], groups[i].bytes,
			groups[i].blocks);
		add_details(&printer, &groups[i]);
	}
	vt_table_add_line(&printer.table);
	add_row(&printer, "all owners", printer.sum, blocks);
	vt_table_print(&printer.table, out, 2);
	vt_table_release(&printer.table);
}

json_t *vt_keeper_table_json(const struct vt_keeper_table *table)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < table->nr; i++) {
		const struct vt_keeper_line *line = &table->lines[i];
		json_t *object = vt_json_append_object(array);

		vt_json_set(object, "keeper", vt_keepers_words[line->keeper]);
		vt_json_set(object, "detail", line->detail);
		vt_json_set(object, "bytes", line->bytes);
		vt_json_set(object, "blocks", line->blocks);
	}
	return array;
}
