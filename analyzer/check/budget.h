/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_BUDGET_H
#define VT_ANALYZER_BUDGET_H

/*
 * A budget: limits on what a run may take, as a TOML file (vtrace-check(1) has its tables).  This
 * file knows what may be limited, and nothing of recordings.
 */

#include <stdint.h>

#include "analyzer/base/amounts.h"
#include "analyzer/base/diag.h"

/* X(name, table, key): a key of NULL is an owner's, a stage's or a step's name. */
#define VT_LIMITS(X)                                                                               \
	X(DEVICE_USED, "total", "device_used")                                                     \
	X(ALLOCATED, "total", "allocated")                                                         \
	X(RESERVED, "total", "reserved")                                                           \
	X(OWNER, "owners", NULL)                                                                   \
	X(STAGE, "stages", NULL)                                                                   \
	X(STEPS, "steps", "peak")                                                                  \
	X(GROWTH, "steps", "growth")                                                               \
	X(STEP, "steps", NULL)                                                                     \
	X(CACHED, "fragmentation", "cached")                                                       \
	X(CACHED_SHARE, "fragmentation", "share")                                                  \
	X(LEFT, "left", "total")                                                                   \
	X(LEFT_OWNER, "left", NULL)                                                                \
	X(FINDING, "findings", "absent")                                                           \
	X(LOST, "recording", "lost")                                                               \
	X(ENDED, "recording", "ended")

#define VT_LIMITS_ENUM(name, table, key) VT_LIMIT_##name,
enum vt_limit_what { VT_LIMITS(VT_LIMITS_ENUM) VT_NR_LIMITS };
#undef VT_LIMITS_ENUM

struct vt_limit {
	enum vt_limit_what what;
	char *name;    /* "owners.activations/mlp", "findings.equal-buffers": as it is printed */
	char *subject; /* owner, stage, finding; NULL: needs none */
	uint32_t step; /* of VT_LIMIT_STEP */
	struct vt_amount amount; /* of a finding, and of how it ended: nothing */
	int line; /* of the budget */
	int is_warning; /* broken, it is said, and nothing fails */
};

struct vt_budget {
	char *path;
	char **baselines; /* as paths from here */
	unsigned nr_baselines;
	char *baseline; /* all of them as one text; NULL: there is none */
	int baseline_line; /* 0: it was not named in the file */
	struct vt_amount tolerance; /* that limits over a baseline allow besides; 0: none */
	struct vt_limit *limits;
	unsigned nr;
};

/*
 * `nr` baselines stand for those of the file, where there are any.  Returns 0, or -1 with `diag`
 * filled with file, line and key (exit code 3): unknown tables, keys, units, stages, findings.
 * vt_budget_release in both cases.
 */
int vt_budget_read(struct vt_budget *budget, const char *path, const char *const *baselines,
		   unsigned nr, struct vt_diag *diag);
void vt_budget_release(struct vt_budget *budget);

/* Of what its figure is: bytes, a share of 100 % in hundredths of a percent, or a count. */
enum vt_budget_unit { VT_BUDGET_BYTES, VT_BUDGET_SHARE, VT_BUDGET_COUNT };
enum vt_budget_unit vt_budget_unit(const struct vt_limit *limit);
/*
 * The most that is allowed, in the unit of its figure.  `spread`: how far the figures of several
 * baselines lie apart.
 */
uint64_t vt_budget_most(const struct vt_budget *budget, const struct vt_limit *limit,
			uint64_t base, uint64_t spread);

#endif
