/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_THRESHOLD_RULE_H
#define VT_ANALYZER_LIVE_THRESHOLD_RULE_H

/*
 * Thresholds of a program that runs, as users type them:
 *
 *	85%                           of the device is in use, by other processes, too
 *	70GiB                         in use by the process, with its context
 *	activations=10GiB             of an owner, with all below it
 *	+1GiB/min, weights=+1%/h      more than a second, minute, hour before
 *	+100MiB/step                  more per training step
 */

#include <stdint.h>

#include "analyzer/base/amounts.h"

/* For a message, in a format. */
#define VT_THRESHOLD_RULE_EXAMPLES "85%%, 70GiB, OWNER=10GiB, +1GiB/min, +100MiB/step"

struct vt_threshold_rule {
	const char *text; /* as it was typed; borrowed */
	char *owner;	  /* NULL: all that is in use */
	struct vt_amount amount;
	int64_t period_s; /* of a growth in time; 0: no such */
	const char *period; /* "min", "step"; NULL: no growth */
};

/* Returns 0, or -1 where `text` is none of the above.  vt_threshold_rule_release in both cases. */
int vt_threshold_rule_parse(struct vt_threshold_rule *rule, const char *text);
void vt_threshold_rule_release(struct vt_threshold_rule *rule);

/* The bytes where it begins; 0: not known, the device's size is not. */
uint64_t vt_threshold_rule_bytes(const struct vt_threshold_rule *rule, int64_t device_bytes);

#endif
