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
#include "analyzer/attribution/verdicts.h"
#include "analyzer/base/map.h"
#include "analyzer/model/variables.h"

struct vt_attribution {
	struct vt_match match;
	struct vt_kinds kinds;
	struct vt_allocation_sites places;
	struct vt_variables variables;
	struct vt_facts *facts;
	struct vt_verdicts verdicts;
	struct vt_map of_rules; /* a rule, and the kind that its owner ends with, to a verdict */
	int is_all_judged;
};

#define VT_OWNER_UNKNOWN "unknown"

void vt_attribution_init(struct vt_attribution *attribution, struct vt_facts *facts);
void vt_attribution_release(struct vt_attribution *attribution);

/* Of the allocation with that index. */
struct vt_verdict vt_attribution_judge(struct vt_attribution *attribution, uint32_t allocation);
/*
 * Judges everything, which no later answer depends on: where the owners of most are asked for, that
 * is faster than one after the other.
 */
void vt_attribution_judge_all(struct vt_attribution *attribution);
/*
 * Judges everything and numbers all owners, those that nobody asked for yet behind the others: from
 * then on vt_attribution_judge changes nothing, and threads may ask at once.
 */
void vt_attribution_complete(struct vt_attribution *attribution);
/* Which verdict an allocation has, an index of verdicts.items + 1; 0: it is not judged. */
static inline uint32_t vt_attribution_verdict_number(const struct vt_attribution *attribution,
						     uint32_t allocation)
{
	return vt_narrow_get(&attribution->verdicts.of, allocation);
}
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
