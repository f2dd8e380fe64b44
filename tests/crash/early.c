/* SPDX-License-Identifier: MIT */
/* A preloaded library with a thread that is there before libvtrace.so's constructor has run. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

__attribute__((visibility("default"))) void early_work_in_thread(void (*work)(void));

static struct {
	pthread_t thread;
	sem_t gate;
	void (*work)(void);
} g;

static void *wait_and_work(void *unused)
{
	while (sem_wait(&g.gate))
		;
	g.work();
	return unused;
}

__attribute__((constructor)) static void start(void)
{
	sem_init(&g.gate, 0, 0);
	pthread_create(&g.thread, NULL, wait_and_work, NULL);
}

/* Has the thread do this, and waits for its end. */
void early_work_in_thread(void (*work)(void))
{
	g.work = work;
	sem_post(&g.gate);
	pthread_join(g.thread, NULL);
}
