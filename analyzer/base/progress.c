/* SPDX-License-Identifier: MIT */
#include "analyzer/base/progress.h"

#include <stdio.h>
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
