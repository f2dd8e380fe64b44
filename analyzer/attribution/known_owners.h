/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_KNOWN_OWNERS_H
#define VT_ANALYZER_KNOWN_OWNERS_H

/* What a user may call an owner: one of the run's, or one that its rules could give. */

#include <stddef.h>

#include "analyzer/attribution/attribution.h"

/* Whether the run has bytes of that owner or below, or its rules could give them. */
int vt_known_owners_has(const struct vt_attribution *attribution, const struct vt_rules *rules,
			const char *owner, size_t len);

/* What rules can give, as a list to choose from: "activations, buffers, ..."; free(). */
char *vt_known_owners_list(const struct vt_rules *rules);

#endif
