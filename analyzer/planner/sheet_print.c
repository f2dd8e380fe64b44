/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/output/json.h"
#include "analyzer/output/table.h"
#include "analyzer/planner/sheet.h"
#include "analyzer/planner/source.h"

#define FORMAT 1

struct point {
	double value, total;
};

VT_VECTOR_DECLARE(points, struct point);

static void print_text(const struct vt_sheet *sheet, FILE *out)
{
	static const struct vt_column columns[] = { { "owner", 0 }, { "GiB", 1 }, { NULL, 0 } };
	struct vt_table table;
	char gib[VT_UNITS_MAX];

	fprintf(out, "%s: a sheet of formulas\n\n", sheet->name);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; i < sheet->rows.len; i++) {
		const struct vt_sheet_row *row = &sheet->rows.items[i];
		char *text = vt_xasprintf("%s = %s", row->formula, row->numbers);

		snprintf(gib, sizeof(gib), "%.2f", row->bytes / VT_GIB);
		vt_table_add(&table, (const char *[]){ row->owner, gib, text });
		free(text);
	}
	vt_table_add_line(&table);
	snprintf(gib, sizeof(gib), "%.2f", sheet->total / VT_GIB);
	vt_table_add(&table, (const char *[]){ "sum", gib, NULL });
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
}

static void print_json(const struct vt_sheet *sheet, FILE *out)
{
	json_t *object = json_object(), *rows = json_array();

	for (size_t i = 0; i < sheet->rows.len; i++) {
		const struct vt_sheet_row *row = &sheet->rows.items[i];
		json_t *one = vt_json_append_object(rows);

		vt_json_set(one, "owner", row->owner);
		vt_json_set(one, "bytes", vt_json_rounded(row->bytes));
		vt_json_set(one, "formula", row->formula);
		vt_json_set(one, "numbers", row->numbers);
	}
	vt_json_set(object, "format", FORMAT);
	vt_json_set(object, "sheet", sheet->name);
	vt_json_set(object, "rows", rows);
	vt_json_set(object, "bytes", vt_json_rounded(sheet->total));
	vt_json_print(object, out);
}

static void print_points_json(const struct points *points, const char *name, FILE *out)
{
	json_t *object = json_object(), *array = json_array();

	for (size_t i = 0; i < points->len; i++) {
		json_t *one = vt_json_append_object(array);

		vt_json_set(one, "value", points->items[i].value);
		vt_json_set(one, "peak_bytes", vt_json_rounded(points->items[i].total));
	}
	vt_json_set(object, "format", FORMAT);
	vt_json_set(object, "option", name);
	vt_json_set(object, "points", array);
	vt_json_print(object, out);
}

static void print_points_text(const struct points *points, const char *name, FILE *out)
{
	const struct vt_column columns[] = {
		{ name, 1 }, { "GiB", 1 }, { "saves", 1 }, { "%", 1 },
	};
	struct vt_table table;
	char b[4][VT_UNITS_MAX];

	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; i < points->len; i++) {
		double total = points->items[i].total, first = points->items[0].total;

		snprintf(b[0], sizeof(b[0]), "%.15g", points->items[i].value);
		snprintf(b[1], sizeof(b[1]), "%.2f", total / VT_GIB);
		snprintf(b[2], sizeof(b[2]), "%.2f", (first - total) / VT_GIB);
		snprintf(b[3], sizeof(b[3]), "%.1f", first ? 100 * (first - total) / first : 0);
		vt_table_add(&table, (const char *[]){ b[0], b[1], b[2], b[3] });
	}
	vt_table_print(&table, out, 0);
	vt_table_release(&table);
}

/* One total per value behind "NAME=". */
static int compute_points(struct points *points, const char *path, const char *text,
			  const char *name, const char *values, struct vt_diag *diag)
{
	while (*values) {
		struct vt_sheet sheet = { 0 };
		struct point point = { 0 };
		char *end;
		int rc;

		point.value = isdigit((unsigned char)*values) ? strtod(values, &end) : -1;
		if (point.value < 0 || (*end && *end != ',')) {
			vt_diag_set(diag, VT_EXIT_USAGE, "--what-if %.40s: numbers and commas",
				    values);
			return -1;
		}
		rc = vt_sheet_compute(&sheet, path, text, name, point.value, diag);
		point.total = sheet.total;
		vt_sheet_release(&sheet);
		if (rc)
			return -1;
		vt_vector_push(points, point);
		values = *end ? end + 1 : end;
	}
	return 0;
}

static int print_sweep(const char *path, const char *text, const char *what_if, int is_json,
		       FILE *out, struct vt_diag *diag)
{
	size_t len = strcspn(what_if, "=");
	char *name = vt_xstrndup(what_if, len);
	struct points points = { 0 };
	int rc = compute_points(&points, path, text, name, what_if + len + (what_if[len] != 0),
				diag);

	if (!rc && is_json)
		print_points_json(&points, name, out);
	else if (!rc)
		print_points_text(&points, name, out);
	vt_vector_release(&points);
	free(name);
	return rc;
}

int vt_sheet_print(const char *path, const char *what_if, int is_json, FILE *out,
		   struct vt_diag *diag)
{
	size_t len;
	char *text = vt_source_read(path, &len, diag);
	struct vt_sheet sheet = { 0 };
	int rc = -1;

	if (text && what_if) {
		rc = print_sweep(path, text, what_if, is_json, out, diag);
	} else if (text) {
		rc = vt_sheet_compute(&sheet, path, text, NULL, 0, diag);
		if (!rc && is_json)
			print_json(&sheet, out);
		else if (!rc)
			print_text(&sheet, out);
		vt_sheet_release(&sheet);
	}
	free(text);
	return rc;
}
