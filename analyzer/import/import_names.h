/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_IMPORT_NAMES_H
#define VT_ANALYZER_IMPORT_NAMES_H

/*
 * Rows of what the probe saw.  `event` is the number of the last event before the record: a tensor
 * was alive then.
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "common/journal_format.h"

struct vt_import_names {
	struct vt_stmt *probe, *tensor, *torch_module, *source;
};

void vt_import_names_init(struct vt_import_names *names, struct vt_db *db);
void vt_import_names_release(struct vt_import_names *names);

/* 0 or -1 with vt_db_error(). */
int vt_import_names_probe(struct vt_import_names *names, uint64_t event,
			  const struct vt_probe_record *record);
int vt_import_names_tensor(struct vt_import_names *names, uint64_t event,
			   const struct vt_tensor_record *record);
int vt_import_names_torch_module(struct vt_import_names *names, uint64_t event,
				 const struct vt_torch_module_record *record);
int vt_import_names_source(struct vt_import_names *names, const struct vt_source_record *record);

#endif
