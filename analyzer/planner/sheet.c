/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/sheet.h"

#include <string.h>

#include "analyzer/base/printable.h"
#include "common/ini.h"

int vt_sheet_is(const char *path)
{
	return vt_util_has_suffix(path, ".ini");
}

static int is_text(const char *text, size_t len, const char *wanted)
{
	return strlen(wanted) == len && !memcmp(text, wanted, len);
}

static int refuse(const struct vt_sheet *sheet, const struct vt_ini_entry *entry, const char *why,
		  struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s:%u: %s", sheet->name, entry->line, why);
	return -1;
}

/* Computes the right side of a line. */
static int value_of(const struct vt_sheet *sheet, const struct vt_ini_entry *entry, double *value,
		    struct vt_diag *diag)
{
	char *formula = vt_xstrndup(entry->value, entry->value_len);
	const char *error;
	int rc = vt_formula_evaluate(formula, &sheet->symbols, value, &error);

	free(formula);
	return rc ? refuse(sheet, entry, error, diag) : 0;
}

static int take_symbol(struct vt_sheet *sheet, const struct vt_ini_entry *entry, const char *given,
		       double given_value, struct vt_diag *diag)
{
	double value;

	if (given && is_text(entry->key, entry->key_len, given))
		value = given_value;
	else if (value_of(sheet, entry, &value, diag))
		return -1;
	if (vt_formula_define(&sheet->symbols, entry->key, entry->key_len, value))
		return refuse(sheet, entry, "too many names, or one that is too long", diag);
	return 0;
}

static int take_row(struct vt_sheet *sheet, const struct vt_ini_entry *entry, struct vt_diag *diag)
{
	struct vt_sheet_row row = { 0 };
	struct vt_buffer numbers;

	if (value_of(sheet, entry, &row.bytes, diag))
		return -1;
	row.owner = vt_printable_make(vt_xstrndup(entry->key, entry->key_len));
	row.formula = vt_printable_make(vt_xstrndup(entry->value, entry->value_len));
	vt_buffer_init(&numbers);
	vt_formula_substitute(row.formula, &sheet->symbols, &numbers);
	row.numbers = vt_buffer_detach(&numbers);
	vt_vector_push(&sheet->rows, row);
	sheet->total += row.bytes;
	return 0;
}

static int take(struct vt_sheet *sheet, const struct vt_ini_entry *entry, const char *given,
		double value, struct vt_diag *diag)
{
	if (is_text(entry->section, entry->section_len, "symbols"))
		return take_symbol(sheet, entry, given, value, diag);
	if (is_text(entry->section, entry->section_len, "rows"))
		return take_row(sheet, entry, diag);
	return refuse(sheet, entry, "sections are [symbols] and [rows]", diag);
}

int vt_sheet_compute(struct vt_sheet *sheet, const char *name, const char *text, const char *given,
		     double value, struct vt_diag *diag)
{
	struct vt_ini_entry entry;
	struct vt_ini ini;
	int rc = 0, got;

	sheet->name = vt_printable_copy(name);
	vt_ini_init(&ini, text, strlen(text));
	while (!rc && (got = vt_ini_next(&ini, &entry)))
		rc = got > 0 ? take(sheet, &entry, given, value, diag) :
			       refuse(sheet, &entry, "no \"name = formula\"", diag);
	if (!rc && given && !vt_formula_find(&sheet->symbols, given, strlen(given))) {
		vt_diag_set(diag, VT_EXIT_USAGE, "%s: no symbol %.40s to change", name, given);
		rc = -1;
	}
	if (!rc && !sheet->rows.len) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no [rows]", name);
		rc = -1;
	}
	return rc;
}

void vt_sheet_release(struct vt_sheet *sheet)
{
	for (size_t i = 0; i < sheet->rows.len; i++) {
		free(sheet->rows.items[i].owner);
		free(sheet->rows.items[i].formula);
		free(sheet->rows.items[i].numbers);
	}
	vt_vector_release(&sheet->rows);
	free(sheet->name);
	memset(sheet, 0, sizeof(*sheet));
}
