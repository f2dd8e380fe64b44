/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_VERDICTS_H
#define VT_ANALYZER_VERDICTS_H

/*
 * What was judged, by allocation.  Millions of allocations share some hundred verdicts, and these
 * some hundred paths of owners: each is kept once, and known by its number.
 */

#include <stdint.h>

#include "analyzer/base/map.h"
#include "analyzer/base/narrow.h"
#include "analyzer/base/util.h"

/* Weights: whether the optimizer may change them. */
enum vt_training { VT_TRAINING_UNKNOWN, VT_TRAINING_TRAINED, VT_TRAINING_FROZEN };

struct vt_verdict {
	uint32_t owner;     /* in vt_verdicts a path; vt_attribution_owner() knows the others */
	uint16_t rule;      /* index into vt_rules.rules + 1; 0 = no rule fits */
	uint8_t provenance; /* enum vt_provenance */
	uint8_t training;   /* enum vt_training */
};

struct vt_verdicts {
	VT_VECTOR(struct vt_verdict) items;
	struct vt_map numbers; /* of their fields to which it is + 1 */
	struct vt_narrow of;   /* by allocation: which + 1; 0: not judged */
	VT_VECTOR(char *) paths;
	struct vt_map path_numbers; /* hash of a path to which it is */
	/* Owners get their numbers as they are asked for, whatever was judged before. */
	VT_VECTOR(uint32_t) owner_of; /* by path; VT_NO_INDEX: not asked for */
	VT_VECTOR(uint32_t) path_of;  /* by owner */
};

void vt_verdicts_init(struct vt_verdicts *verdicts, uint32_t nr_allocations);
void vt_verdicts_release(struct vt_verdicts *verdicts);

/* Takes the path. */
uint32_t vt_verdicts_path(struct vt_verdicts *verdicts, char *path);
/* The number of a verdict + 1. */
uint32_t vt_verdicts_number(struct vt_verdicts *verdicts, struct vt_verdict verdict);
uint32_t vt_verdicts_owner(struct vt_verdicts *verdicts, uint32_t path);
/* What others were judged to be, from an allocation on to the one before another. */
void vt_verdicts_take(struct vt_verdicts *verdicts, const struct vt_verdicts *others,
		      uint32_t first, uint32_t end);

#endif
