/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FOLDER_H
#define VT_ANALYZER_FOLDER_H

/* The recordings in a folder, by name; not in folders below it. */

#include <stdint.h>

#include "analyzer/base/diag.h"

struct vt_folder {
	char **files; /* NAME.db, or NAME.journal where there is no database yet; sorted */
	uint32_t nr;
};

/* 0, or -1 with `diag` filled: unreadable, nothing in it.  vt_folder_release in any case. */
int vt_folder_list(struct vt_folder *folder, const char *path, struct vt_diag *diag);
void vt_folder_release(struct vt_folder *folder);

int vt_folder_is_one(const char *path);

#endif
