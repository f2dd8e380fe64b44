/* SPDX-License-Identifier: MIT */
#include "preload/nvtx_announce.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/nvtx_abi.h"
#include "preload/real.h"
#include "preload/text.h"

#define MOST_VARIABLES 126u
#define ENTRY_BYTES    512u

/* What the environment is from then on: setenv() of the program makes its own list again. */
static struct {
	char *variables[MOST_VARIABLES + 2];
	char entry[ENTRY_BYTES];
} g;

/*
 * setenv() without malloc(): most programs that are started are short, and do not use it before
 * main(), or at all.  0 where there is no room.
 */
static int add_variable(const char *path)
{
	struct vt_text entry;
	size_t nr = 0;

	while (environ && environ[nr])
		if (++nr > MOST_VARIABLES)
			return 0;
	vt_text_init(&entry, g.entry, sizeof(g.entry));
	vt_text_add(&entry, VT_NVTX_VARIABLE "=");
	vt_text_add(&entry, path);
	if (entry.is_cut)
		return 0;
	/* Ours last: what looks through the list finds its own first. */
	if (nr)
		memmove(g.variables, environ, nr * sizeof(*g.variables));
	g.variables[nr] = g.entry;
	g.variables[nr + 1] = NULL;
	environ = g.variables;
	return 1;
}

void vt_nvtx_announce(void)
{
	const char *path = vt_real_own_path();

	if (*path && !getenv(VT_NVTX_VARIABLE) && !add_variable(path))
		setenv(VT_NVTX_VARIABLE, path, 0);
}
