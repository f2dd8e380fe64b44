/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FAIL_ON_H
#define VT_ANALYZER_FAIL_ON_H

/*
 * How much more a run may take before that is a failure, as users type it:
 *
 *	any                       no owner and no place may differ in bytes
 *	moved                     no place may have another name, whatever its bytes
 *	total:+2%                 the highest device use of the run
 *	allocated:+100MiB         the most bytes in blocks of the run
 *	owner:activations:+5%     an owner with all below it, at the moment that is compared
 */

#include "analyzer/base/amounts.h"
#include "analyzer/diff/diff.h"

enum vt_fail_on_subject {
	VT_FAIL_ON_ANY,
	VT_FAIL_ON_MOVED,
	VT_FAIL_ON_TOTAL,
	VT_FAIL_ON_ALLOCATED,
	VT_FAIL_ON_OWNER,
};

struct vt_fail_on {
	const char *text; /* as it was typed; borrowed */
	enum vt_fail_on_subject subject;
	const char *owner; /* in `text` */
	int owner_len;
	struct vt_amount amount; /* relative */
};

/* Returns NULL, or what is wrong with `text`, to be said after it.  `text` must outlive it. */
const char *vt_fail_on_parse(struct vt_fail_on *threshold, const char *text);

/* Whether what it is about is in either run. */
int vt_fail_on_has_subject(const struct vt_fail_on *threshold, const struct vt_diff *diff);
/*
 * ... or could be, by the rules: else it is misspelt.  What no allocation has ("cached", "context")
 * is known, too.
 */
int vt_fail_on_is_known(const struct vt_fail_on *threshold, const struct vt_diff *diff);

/*
 * Whether the new run takes more than that on this device.  `bytes`: of its subject in both runs;
 * both 0 for "any" and "moved".
 */
int vt_fail_on_is_exceeded(const struct vt_fail_on *threshold, const struct vt_diff *diff,
			   const struct vt_diff_device *device, uint64_t *bytes);

#endif
