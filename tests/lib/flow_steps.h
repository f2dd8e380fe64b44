/* SPDX-License-Identifier: MIT */
#ifndef VT_TESTS_FLOW_STEPS_H
#define VT_TESTS_FLOW_STEPS_H

/* Operators that read and write storages, and the part of a network that each must be. */

#include <stdint.h>

#include "analyzer/base/util.h"

#define WIDE         (1u << 20)
#define CAST_BYTES   (3u << 18) /* half of what a parameter has that no step reads */
#define NO_NODE      (-1)
#define GIVEN        UINT32_MAX   /* the result was there before, and is the last argument */
#define CALLED_BY(i) (1000 + (i)) /* no results besides; the step with that number calls it */
#define NOTHING_FOR(i) (2000 + (i)) /* no results; the step with that number calls it */
#define MADE_FOR(i)    (3000 + (i)) /* its result is that step's; the step before it calls it */
#define LEAF_MAX     8            /* storages 1 to 7 are weights and data from elsewhere */

/* An operator, the storages that it reads, and what the one that it makes is. */
struct step {
	const char *name;
	uint32_t inputs[3]; /* 0: none; 1 to 7 are leaves, LEAF_MAX + i what step i made */
	const char *label;
	uint32_t bytes;   /* 0: WIDE */
	int in_backward;  /* of the forward step with that number + 1; NO_NODE: no node */
	uint32_t nr_more; /* results besides; steps behind it count them */
};

/* Leaves from `first_buffer` on are buffers of modules. */
void flow_steps_check(const struct step *steps, uint32_t nr, uint32_t first_buffer);

/* Which of the leaves are multiplied by what layers made: bit i is leaf i. */
uint32_t flow_steps_factors(const struct step *steps, uint32_t nr);

#define CHECK(steps) flow_steps_check(steps, VT_ARRAY_SIZE(steps), LEAF_MAX)
#define S(i)         (LEAF_MAX + (i))

#endif
