/* SPDX-License-Identifier: MIT */
#include "analyzer/export/csv.h"

#include <errno.h>
#include <string.h>

/* Millions of rows: nothing here takes the stream's lock, one thread writes it. */
static void put_text(FILE *file, const char *text)
{
	putc_unlocked('"', file);
	for (; *text; text++) {
		if (*text == '"')
			putc_unlocked('"', file);
		putc_unlocked(*text, file);
	}
	putc_unlocked('"', file);
}

static void put_number(FILE *file, int64_t number)
{
	char digits[24], *first = digits + sizeof(digits);
	uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

	do
		*--first = (char)('0' + left % 10);
	while (left /= 10);
	if (number < 0)
		*--first = '-';
	while (first < digits + sizeof(digits))
		putc_unlocked(*first++, file);
}

static void end_cell(struct vt_csv *csv)
{
	csv->nr_cells = (csv->nr_cells + 1) % csv->nr_columns;
	if (csv->file)
		putc_unlocked(csv->nr_cells ? ',' : '\n', csv->file);
}

void vt_csv_open(struct vt_csv *csv, const char *path, const char *const *names, unsigned nr)
{
	*csv = (struct vt_csv){ .file = fopen(path, "wxe"), .nr_columns = nr };
	for (unsigned i = 0; i < nr; i++)
		vt_csv_text(csv, names[i]);
}

int vt_csv_close(struct vt_csv *csv)
{
	int is_bad = !csv->file || ferror(csv->file);

	if (csv->file && fclose(csv->file))
		is_bad = 1;
	csv->file = NULL;
	if (is_bad && !errno)
		errno = EIO;
	return is_bad ? -1 : 0;
}

void vt_csv_number(struct vt_csv *csv, int64_t number)
{
	if (csv->file)
		put_number(csv->file, number);
	end_cell(csv);
}

void vt_csv_text(struct vt_csv *csv, const char *text)
{
	if (csv->file && text)
		put_text(csv->file, text);
	end_cell(csv);
}

void vt_csv_null(struct vt_csv *csv)
{
	end_cell(csv);
}
