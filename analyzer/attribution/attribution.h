/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ATTRIBUTION_H
#define VT_ANALYZER_ATTRIBUTION_H

/*
 * The owner of every byte, and how it is known.  Judged on demand and remembered; the database is
 * not touched.
 */

#include <stdint.h>

#include "analyzer/attribution/kinds.h"
#include "analyzer/attribution/match.h"

struct vt_verdict {
	uint16_t owner;     /* vt_attribution_owner() */
	uint16_t rule;      /* index into vt_rules.rules + 1; 0 = no rule fits */
	uint8_t provenance; /* enum vt_provenance */
	uint8_t is_judged;
};

struct vt_attribution {
	struct vt_match match;
	struct vt_kinds kinds;
	struct vt_facts *facts;
	struct vt_verdict *verdicts; /* by allocation */
	char **owners;
	uint32_t nr_owners;
	size_t owner_capacity;
};

#define VT_OWNER_UNKNOWN "unknown"

void vt_attribution_init(struct vt_attribution *attribution, struct vt_facts *facts);
void vt_attribution_release(struct vt_attribution *attribution);

/* Of the allocation with that index. */
struct vt_verdict vt_attribution_judge(struct vt_attribution *attribution, uint32_t allocation);
/* Owner path by number: "activations/mlp". */
const char *vt_attribution_owner(const struct vt_attribution *attribution, uint32_t owner);

#endif
