/* SPDX-License-Identifier: MIT */
#include "common/launchers.h"

#include <stddef.h>
#include <string.h>

/* Longer ones are no ranks, and would not do in a file's name. */
#define MOST_DIGITS 9

static const struct {
	const char *name, *rank, *world_size, *local_rank;
} launchers[] = {
#define ROW(name, rank, world_size, local_rank) { name, rank, world_size, local_rank },
	VT_LAUNCHERS(ROW)
#undef ROW
};

/* NULL where it is no number: RANK may be a user's own word. */
static const char *number_of(const char *variable, vt_launchers_get_fn get)
{
	const char *text = *variable ? get(variable) : NULL;
	size_t len = text ? strspn(text, "0123456789") : 0;

	return len && len <= MOST_DIGITS && !text[len] ? text : NULL;
}

void vt_launchers_find(struct vt_launcher *launcher, vt_launchers_get_fn get)
{
	memset(launcher, 0, sizeof(*launcher));
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		launcher->rank = number_of(launchers[i].rank, get);
		if (!launcher->rank)
			continue;
		launcher->name = launchers[i].name;
		launcher->world_size = number_of(launchers[i].world_size, get);
		launcher->local_rank = number_of(launchers[i].local_rank, get);
		return;
	}
}

int vt_launchers_is_one_of_many(const struct vt_launcher *launcher)
{
	return launcher->world_size && strcmp(launcher->world_size, "0") != 0 &&
	       strcmp(launcher->world_size, "1") != 0;
}

void vt_launchers_job(char job[VT_LAUNCHERS_MAX_JOB], vt_launchers_get_fn get)
{
	/* Steps of Slurm's jobs; PRRTE and Open MPI; a port that torchrun chooses, and its run. */
	static const char *const variables[] = {
		"SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE",
		"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID",
	};
	size_t len = 0;

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *text = get(variables[i]);
		size_t text_len = text ? strlen(text) : 0;

		if (!text_len || len + text_len + 2 > VT_LAUNCHERS_MAX_JOB)
			continue;
		if (len)
			job[len++] = ' ';
		memcpy(job + len, text, text_len);
		len += text_len;
	}
	job[len] = '\0';
}

int vt_launchers_is_named_by(const char *pattern)
{
	for (const char *at = strchr(pattern, '%'); at; at = strchr(at, '%')) {
		if (at[1] == 'r' || at[1] == 'q')
			return 1;
		at += at[1] ? 2 : 1;
	}
	return 0;
}
