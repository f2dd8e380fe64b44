/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_IMPORT_OPERATORS_H
#define VT_ANALYZER_IMPORT_OPERATORS_H

/*
 * Rows of observed operators.  Addresses of tensors become allocations here, where it is known what
 * is live: inputs at the beginning of an operator, results at its end.  Nothing is kept in memory
 * between the two, so an import may stop anywhere.
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "analyzer/import/import_allocations.h"
#include "common/journal_format.h"

struct vt_import_operators {
	const struct vt_import_allocations *allocations; /* borrowed */
	struct vt_stmt *begin, *end, *tensor;
};

void vt_import_operators_init(struct vt_import_operators *operators, struct vt_db *db,
			      const struct vt_import_allocations *allocations);
void vt_import_operators_release(struct vt_import_operators *operators);

/* `event` is the number of the last event before the record.  0 or -1 with vt_db_error(). */
int vt_import_operators_begin(struct vt_import_operators *operators, uint64_t event,
			      const struct vt_operator_record *record);
int vt_import_operators_end(struct vt_import_operators *operators, uint64_t event,
			    const struct vt_operator_end_record *record);

#endif
