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

#endif
