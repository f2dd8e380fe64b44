/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OWNER_PATH_H
#define VT_ANALYZER_OWNER_PATH_H

/* Paths of owners: "activations/mlp" lies below "activations", and not below "activ". */

#include <stddef.h>
#include <string.h>

/* Whether `owner` is the path of that length, or lies below it. */
static inline int vt_owner_path_is_below(const char *owner, const char *path, size_t len)
{
	return strncmp(owner, path, len) == 0 && (!owner[len] || owner[len] == '/');
}

/* The same of any of `nr` paths. */
static inline int vt_owner_path_is_below_any(const char *owner, const char *const *paths, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (vt_owner_path_is_below(owner, paths[i], strlen(paths[i])))
			return 1;
	return 0;
}

#endif
