/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ATTRIBUTION_H
#define VT_ANALYZER_ATTRIBUTION_H

/*
 * The owner of every byte, and how it is known.  Judged on demand and remembered; the database is
 * not touched.
 *
 * An owner is a category, of which there are few ("weights", "activations/mlp"): what is added up.
 * Its path may go on with the name of the one thing ("weights/layers.0.mlp.up_proj.weight").
 */

#include <stdint.h>

#include "analyzer/attribution/kinds.h"
#include "analyzer/attribution/inference/match.h"
#include "analyzer/attribution/allocation_sites.h"
#include "analyzer/base/map.h"
#include "analyzer/base/narrow.h"
#include "analyzer/base/util.h"
#include "analyzer/model/variables.h"

/* Weights: whether the optimizer may change them. */
enum vt_training { VT_TRAINING_UNKNOWN, VT_TRAINING_TRAINED, VT_TRAINING_FROZEN };

struct vt_verdict {
	uint32_t owner;     /* vt_attribution_owner() */
	uint16_t rule;      /* index into vt_rules.rules + 1; 0 = no rule fits */
	uint8_t provenance; /* enum vt_provenance */
	uint8_t training;   /* enum vt_training */
};

struct vt_attribution {
	struct vt_match match;
	struct vt_kinds kinds;
	struct vt_allocation_sites places;
	struct vt_variables variables;
	struct vt_facts *facts;
	VT_VECTOR(struct vt_verdict) verdicts; /* those that differ; owner: which path */
	struct vt_map verdict_numbers;         /* of their fields to which it is + 1 */
	struct vt_narrow verdict_of;          /* by allocation: which + 1; 0: not judged */
	char **paths;
	uint32_t nr_paths;
	size_t path_capacity;
	struct vt_map numbers; /* hash of a path to which it is */
	struct vt_map of_rules; /* a rule, and the kind that its owner ends with, to that */
	/* Owners get their numbers as they are asked for, whatever was judged before. */
	VT_VECTOR(uint32_t) owner_of; /* by path; VT_NO_INDEX: not asked for */
	VT_VECTOR(uint32_t) path_of;  /* by owner */
};

#define VT_OWNER_UNKNOWN "unknown"
#define VT_OWNER_WEIGHTS "weights"

void vt_attribution_init(struct vt_attribution *attribution, struct vt_facts *facts);
void vt_attribution_release(struct vt_attribution *attribution);

/* Of the allocation with that index. */
struct vt_verdict vt_attribution_judge(struct vt_attribution *attribution, uint32_t allocation);
/*
 * Judges all that has an owner, which no later answer depends on: for a command that has time to do
 * it while something else is done.
 */
void vt_attribution_judge_all(struct vt_attribution *attribution);
/* Category by number: "activations/mlp". */
const char *vt_attribution_owner(const struct vt_attribution *attribution, uint32_t owner);
/* The full path of the allocation with that index; the caller frees. */
char *vt_attribution_path(struct vt_attribution *attribution, uint32_t allocation);
/* ... by one rule, whether or not it is the one that decides; NULL: by none. */
char *vt_attribution_path_by(struct vt_attribution *attribution, const struct vt_rule *rule,
			     uint32_t allocation);
/* How what `rule` says of it is known: by data flow where that tells its kind of activation. */
enum vt_provenance vt_attribution_provenance_by(struct vt_attribution *attribution,
						const struct vt_rule *rule, uint32_t allocation);
/* The rule that decided; NULL: none. */
const struct vt_rule *vt_attribution_rule(const struct vt_attribution *attribution,
					  struct vt_verdict verdict);

#endif
