/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_IMPORT_DEFINITIONS_H
#define VT_ANALYZER_IMPORT_DEFINITIONS_H

/*
 * Facts about the run, strings and devices to rows.  Nothing is kept in memory: there is nothing to
 * resume.
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "common/journal_format.h"

struct vt_import_definitions {
	struct vt_db *db; /* borrowed */
	struct vt_stmt *string, *device, *context, *info;
};

void vt_import_definitions_init(struct vt_import_definitions *d, struct vt_db *db);
void vt_import_definitions_release(struct vt_import_definitions *d);

/* One record each; 0 or -1 with vt_db_error(). */
int vt_import_definitions_string(struct vt_import_definitions *d,
				 const struct vt_string_record *record);
/* Keys that the importer knows itself (pid, events, ...) are left to it. */
int vt_import_definitions_info(struct vt_import_definitions *d,
			       const struct vt_info_record *record);
int vt_import_definitions_device(struct vt_import_definitions *d,
				 const struct vt_device_record *record);

/*
 * A memory_info sample on a device of which `recorded_bytes` are accounted for: the first one that
 * makes sense sets device.context_bytes.
 */
int vt_import_definitions_sample(struct vt_import_definitions *d,
				 const struct vt_event_record *record, uint64_t recorded_bytes);

/* run.torch from the version.py beside libtorch_cpu.so, where the module is that. */
int vt_import_definitions_torch(struct vt_import_definitions *d,
				const struct vt_module_record *record);

#endif
