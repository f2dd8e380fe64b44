/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_KEEPER_TABLE_H
#define VT_ANALYZER_KEEPER_TABLE_H

/*
 * Live bytes of one device by what keeps them alive: `vtrace report --by keeper`.
 */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/attribution/keepers.h"
#include "analyzer/report/report_sections.h"

struct vt_keeper_line {
	enum vt_keeper keeper;
	char *detail; /* NULL: none */
	uint64_t bytes;
	uint32_t blocks;
};

struct vt_keeper_table {
	struct vt_keeper_line *lines; /* by keeper; of one keeper the largest first */
	uint32_t nr;
};

void vt_keeper_table_init(struct vt_keeper_table *table, const struct vt_report *report,
			  const struct vt_report_device *row);
void vt_keeper_table_release(struct vt_keeper_table *table);

/* The largest keeper first, below each its largest details; the sum is that of all owners. */
void vt_keeper_table_print(const struct vt_keeper_table *table, struct vt_report_unit unit,
			   FILE *out);
json_t *vt_keeper_table_json(const struct vt_keeper_table *table);

#endif
