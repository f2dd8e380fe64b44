/* SPDX-License-Identifier: MIT */
/*
 * PyTorch under a file name that the recorder does not know: functions that it stands in front of,
 * and calls of them from where they are.
 */
#include <stdint.h>

#include "preload/torch_real.h"

static int nr_calls;

void evaluate(void *engine, void *task, void *node, void *inputs, void *queue)
	__asm__(VT_TORCH_EVALUATE);
void evaluate(void *engine, void *task, void *node, void *inputs, void *queue)
{
	(void)engine, (void)task, (void)node, (void)inputs, (void)queue;
	nr_calls++;
}

uint64_t next_sequence(void) __asm__(VT_TORCH_NEXT_SEQUENCE);
uint64_t next_sequence(void)
{
	return 4711;
}

/* How often the function that is here has run, after a call by its name. */
int call_evaluate(void)
{
	evaluate(0, 0, 0, 0, 0);
	return nr_calls;
}

uint64_t call_next_sequence(void)
{
	uint64_t sequence = next_sequence();

	/* A call that returns here, not a jump. */
	__asm__ volatile("" : "+r"(sequence));
	return sequence;
}
