/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CARD_CHOICE_H
#define VT_ANALYZER_CARD_CHOICE_H

/*
 * Which card an option means: "NAME[,key=value...]" of a table in memory (simulator/profiles.ini),
 * or "FILE.ini[,key=value...]", a file with one section of the same keys.
 */

#include <stddef.h>

#include "analyzer/base/diag.h"
#include "common/card_profile.h"

/*
 * 0 with *card filled, or -1 with `diag`: exit code 2 for a wrong name, key or value, 3 for a file
 * that cannot be read or says something wrong.  The message begins with `option`.
 */
int vt_card_choice_read(struct vt_card_profile *card, const char *choice, const char *table,
			const char *option, struct vt_diag *diag);

/* The `place`-th card of the table: 0, or -1 after the last one. */
int vt_card_choice_at(struct vt_card_profile *card, const char *table, size_t place);

/*
 * The choice with the path of its file made absolute, so that it means the same in any folder; the
 * caller frees.  NULL with `diag` filled where that path has a comma.
 */
char *vt_card_choice_absolute(const char *choice, const char *option, struct vt_diag *diag);

#endif
