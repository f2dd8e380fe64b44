/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/card_table.h"

#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/output/table.h"

static void add(struct vt_table *table, const struct vt_card_row *row)
{
	char usable[VT_UNITS_MAX], headroom[VT_UNITS_MAX];

	snprintf(usable, sizeof(usable), "%.2f", row->usable_bytes / VT_GIB);
	snprintf(headroom, sizeof(headroom), "%+.2f", row->headroom_bytes / VT_GIB);
	vt_table_add(table,
		     (const char *[]){ row->name, usable, headroom, row->verdict, row->note });
}

void vt_card_table_print(const struct vt_gpu *only, vt_card_row_fn fill, const void *of, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "GPU", 0 }, { "usable GiB", 1 }, { "to spare", 1 }, { NULL, 0 }, { NULL, 0 },
	};
	struct vt_table table;
	struct vt_gpu gpu;

	fputc('\n', out);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; only ? i == 0 : !vt_gpus_at(i, &gpu); i++) {
		struct vt_card_row row = { 0 };

		fill(of, only ? only : &gpu, &row);
		add(&table, &row);
	}
	vt_table_print(&table, out, 0);
	vt_table_release(&table);
}
