/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "maths.h"

enum { MAX_LIBRARIES = 32 };

static struct {
	struct {
		char *soname;
		struct vts_release release;
	} libraries[MAX_LIBRARIES];
	unsigned int nr_libraries;
} g;

void vts_maths_note_release(const char *soname, struct vts_release release)
{
	const char *suffix = strstr(soname, ".so.");

	if (g.nr_libraries == MAX_LIBRARIES)
		return;
	if (!release.major && suffix)
		release.major = atoi(suffix + strlen(".so."));
	g.libraries[g.nr_libraries].soname = strdup(soname);
	g.libraries[g.nr_libraries++].release = release;
}

struct vts_release vts_maths_release_of(const char *stem)
{
	struct vts_release unknown = {0, 0, 0};
	size_t len = strlen(stem);
	unsigned int i;

	for (i = 0; i < g.nr_libraries; i++)
		if (g.libraries[i].soname && !strncmp(g.libraries[i].soname, stem, len) &&
		    g.libraries[i].soname[len] == '.')
			return g.libraries[i].release;
	return unknown;
}
