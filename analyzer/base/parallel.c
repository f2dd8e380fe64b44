/* SPDX-License-Identifier: MIT */
#include "analyzer/base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* Each piece of work may hold as much memory as the recording has: more at once is no gain. */
#define MAX_THREADS 8

struct queue {
	atomic_size_t next;
	size_t nr;
	vt_parallel_fn work;
	void *context;
};

static void *take_turns(void *argument)
{
	struct queue *queue = argument;
	size_t number;

	while ((number = atomic_fetch_add(&queue->next, 1)) < queue->nr)
		queue->work(queue->context, number);
	return NULL;
}

void vt_parallel_run(size_t nr, vt_parallel_fn work, void *context)
{
	struct queue queue = { .nr = nr, .work = work, .context = context };
	pthread_t threads[MAX_THREADS - 1];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t wanted = processors > MAX_THREADS ? MAX_THREADS : (size_t)processors, started = 0;

	if (wanted > nr)
		wanted = nr;
	/* Where no thread can be started this one does it all. */
	while (processors > 0 && started + 1 < wanted &&
	       !pthread_create(&threads[started], NULL, take_turns, &queue))
		started++;
	take_turns(&queue);
	while (started)
		pthread_join(threads[--started], NULL);
}
