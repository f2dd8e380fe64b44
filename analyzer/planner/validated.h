/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_VALIDATED_H
#define VT_ANALYZER_VALIDATED_H

/*
 * What was compared with runs (tests/planner/matrix): families.ini has, for each kind of model, in
 * which modes and with which options its plans were right.
 */

#include "analyzer/planner/plan.h"

/*
 * Why this plan's figures are not sure although its kind is known: what it asks for was not
 * compared for that kind, or was wrong, or has no formula.  NULL: they are.  Static text.
 */
const char *vt_validated_doubt(const struct vt_plan *plan);

#endif
