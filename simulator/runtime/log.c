/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <pthread.h>
#include <stdio.h>

#include "../verbose.h"

enum { MAX_NAMES = 512 };

static struct {
	pthread_mutex_t lock; /* guards the list; leaf */
	const char *names[MAX_NAMES];
	unsigned int nr_names;
} g = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int is_new(const char *name)
{
	int is_first = 0;
	unsigned int i;

	pthread_mutex_lock(&g.lock);
	for (i = 0; i < g.nr_names && g.names[i] != name; i++)
		;
	if (i == g.nr_names && i < MAX_NAMES) {
		g.names[g.nr_names++] = name;
		is_first = 1;
	}
	pthread_mutex_unlock(&g.lock);
	return is_first;
}

void vts_log_once(const char *what, const char *name)
{
	if (vts_is_verbose() && is_new(name))
		fprintf(stderr, "vtrace simulator: runtime: %s %s\n", what, name);
}
