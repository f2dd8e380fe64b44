/* SPDX-License-Identifier: MIT */
#ifndef VT_TESTS_PLANNED_H
#define VT_TESTS_PLANNED_H

/*
 * Plans for the tests of the planner: a preset, or a configuration, and settings as words.
 */

#include "analyzer/planner/estimate.h"

struct planned {
	struct vt_architecture model;
	struct vt_plan_settings settings;
	struct vt_plan plan;
};

/*
 * planned_make("llama-2-7b", "mode=train batch=4"); a test fails where the settings do.
 */
struct planned *planned_make(const char *preset, const char *settings);
/* The same of the text of a config.json. */
struct planned *planned_read(const char *config, const char *settings);
void planned_release(struct planned *planned);

/* Bytes of an owner in a stage; NULL: of all owners. */
double planned_bytes(const struct planned *planned, const char *owner, enum vt_plan_stage stage);
/* Bytes of the one row whose formula is that. */
double planned_row(const struct planned *planned, const char *formula);

/* Rounds of a fuzzing test: those of VT_FUZZ_ROUNDS in the environment, else so many. */
unsigned long planned_rounds(unsigned long quick);

#endif
