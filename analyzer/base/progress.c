/* SPDX-License-Identifier: MIT */
#include "analyzer/base/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/base/clock.h"

/* Only what lasts longer shows how far it is. */
#define QUIET_NS 1000000000ull

void vt_progress_init(struct vt_progress *progress, const char *what)
{
	progress->what = what;
	progress->start_ns = vt_clock_ns();
	progress->is_terminal = isatty(STDERR_FILENO);
	progress->is_shown = 0;
}

static int is_time(struct vt_progress *progress)
{
	if (!progress->is_terminal || vt_clock_ns() - progress->start_ns < QUIET_NS)
		return 0;
	progress->is_shown = 1;
	return 1;
}

void vt_progress_count(struct vt_progress *progress, uint32_t done, uint32_t nr)
{
	if (is_time(progress))
		fprintf(stderr, "\rvtrace: %s: %u of %u", progress->what, done, nr);
}

void vt_progress_share(struct vt_progress *progress, uint64_t done, uint64_t all)
{
	if (all && is_time(progress))
		fprintf(stderr, "\rvtrace: %s: %3llu %%", progress->what,
			(unsigned long long)(done * 100 / all));
}

void vt_progress_end(struct vt_progress *progress)
{
	if (progress->is_shown)
		fputs("\r\033[K", stderr);
	progress->is_shown = 0;
}

static void wait_quietly(struct vt_progress_parts *parts)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += QUIET_NS / 1000000000;
	while (parts->part && !pthread_cond_timedwait(&parts->is_changed, &parts->lock, &until))
		;
}

static void *show_parts(void *context)
{
	struct vt_progress_parts *parts = context;
	const char *shown = NULL;

	pthread_mutex_lock(&parts->lock);
	wait_quietly(parts);
	while (parts->part) {
		if (parts->part != shown)
			fprintf(stderr, "\r\033[Kvtrace: %s", parts->part);
		shown = parts->part;
		pthread_cond_wait(&parts->is_changed, &parts->lock);
	}
	pthread_mutex_unlock(&parts->lock);
	if (shown)
		fputs("\r\033[K", stderr);
	return NULL;
}

void vt_progress_parts_begin(struct vt_progress_parts *parts, const char *part)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&parts->lock, NULL);
	pthread_cond_init(&parts->is_changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	parts->part = part;
	parts->is_started =
		isatty(STDERR_FILENO) && !pthread_create(&parts->thread, NULL, show_parts, parts);
}

void vt_progress_parts_next(struct vt_progress_parts *parts, const char *part)
{
	pthread_mutex_lock(&parts->lock);
	parts->part = part;
	pthread_cond_signal(&parts->is_changed);
	pthread_mutex_unlock(&parts->lock);
}

void vt_progress_parts_end(struct vt_progress_parts *parts)
{
	vt_progress_parts_next(parts, NULL);
	if (parts->is_started)
		pthread_join(parts->thread, NULL);
	pthread_cond_destroy(&parts->is_changed);
	pthread_mutex_destroy(&parts->lock);
}
