/* SPDX-License-Identifier: MIT */
/*
 * One table, one place per node: those of a thread lie side by side, so that making nodes walks
 * through memory, and only as much of it is touched as a program ever needs.  The newest takes the
 * place.
 *
 * A place holds two words.  The first is the node, in full: no place ever answers for another node.
 * The second has the stack, and a check made of the node, the recording and the stack: two writers
 * that meet in one place can leave the words of different nodes, and a stack number of an earlier
 * recording (before a fork) means nothing; neither passes the check.  Hence no lock and no order.
 */

#include "preload/torch_forward.h"

#include "preload/thread_state.h"

/*
 * Nodes that can wait for their backward pass: 4 MiB.  A step of a language model of 48 layers
 * makes some 2,000 nodes; graphs that Python unrolls (a recurrence, a rollout) make 100,000.
 */
#define NR_PLACES (1u << 18)

/* Of threads and numbers beyond, nothing is remembered: a thread per microsecond for 16 seconds. */
#define THREAD_BITS   24
#define SEQUENCE_BITS 40

/* 2^64 divided by the golden ratio: places of several threads lie apart. */
#define SPREAD 0x9e3779b97f4a7c15ull

struct place {
	uint64_t node;	/* atomic; 0 = empty, threads count from 1 */
	uint64_t answer; /* atomic; check in the upper half, stack in the lower */
};

static struct {
	struct place places[NR_PLACES];
} g;

/* 0: cannot be distinguished from another one. */
static uint64_t number_of(uint64_t thread, uint64_t sequence)
{
	if (!thread || thread >> THREAD_BITS || sequence >> SEQUENCE_BITS)
		return 0;
	return thread << SEQUENCE_BITS | sequence;
}

static struct place *place_of(uint64_t thread, uint64_t sequence)
{
	return &g.places[(sequence + (thread * SPREAD >> 32)) % NR_PLACES];
}

static uint64_t answer_of(uint64_t node, uint32_t python_stack)
{
	uint64_t mixed = node ^ (uint64_t)vt_thread_generation() << 32 ^ python_stack;

	mixed *= SPREAD;
	mixed ^= mixed >> 29;
	mixed *= SPREAD;
	return mixed >> 32 << 32 | python_stack;
}

void vt_torch_forward_note(uint64_t thread, uint64_t sequence, uint32_t python_stack)
{
	uint64_t node = number_of(thread, sequence);
	struct place *place = place_of(thread, sequence);

	if (!node)
		return;
	__atomic_store_n(&place->answer, answer_of(node, python_stack), __ATOMIC_RELAXED);
	__atomic_store_n(&place->node, node, __ATOMIC_RELAXED);
}

uint32_t vt_torch_forward_find(uint64_t thread, uint64_t sequence)
{
	uint64_t node = number_of(thread, sequence), answer;
	const struct place *place = place_of(thread, sequence);

	if (!node || __atomic_load_n(&place->node, __ATOMIC_RELAXED) != node)
		return 0;
	answer = __atomic_load_n(&place->answer, __ATOMIC_RELAXED);
	return answer == answer_of(node, (uint32_t)answer) ? (uint32_t)answer : 0;
}
