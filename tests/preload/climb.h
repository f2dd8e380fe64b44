/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PRELOAD_CLIMB_H
#define TESTS_PRELOAD_CLIMB_H

/*
 * Random call trees through functions whose frames differ in every way that compilers know: of
 * fixed and of variable size, with and without a frame pointer, aligned, called back through libc.
 */

#include <stdint.h>

struct climb {
	uint64_t random;	/* state; set it to begin */
	unsigned int most_depth;
	void (*on_leaf)(struct climb *climb);
	unsigned int leaves;	/* how many are still to come; the climb ends at 0 */
	unsigned int is_odd;	/* frames that the fast road cannot take are met as well */
};

__attribute__((visibility("default"))) void climb_start(struct climb *climb);

/* Calls the function on another stack, which grows down from `top`. */
void climb_on_stack(void *top, void (*function)(void *argument), void *argument);

#endif
