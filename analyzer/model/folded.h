/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FOLDED_H
#define VT_ANALYZER_FOLDED_H

/*
 * A recording of which only a part of the past is kept (schema.sql, table period): up to its
 * horizon what was live is known at some instants alone, there exactly.
 */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"

struct vt_folded {
	int64_t event;     /* the horizon; 0: everything is kept */
	int64_t *instants; /* ascending, of those up to the horizon */
	uint32_t nr;
};

/* 0, or -1 with vt_db_error(); vt_folded_release is to be called in both cases. */
int vt_folded_load(struct vt_folded *folded, struct vt_db *db);
void vt_folded_release(struct vt_folded *folded);

int vt_folded_has_instant(const struct vt_folded *folded, int64_t event);

/* Whether what was live after that event is all there. */
static inline int vt_folded_is_known(const struct vt_folded *folded, int64_t event)
{
	return event > folded->event || vt_folded_has_instant(folded, event);
}

/* A sentence about what is kept; NULL where everything is.  free(). */
char *vt_folded_describe(struct vt_db *db);

#endif
