/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_GENERATED_NAME_H
#define VT_COMMON_GENERATED_NAME_H

/*
 * The files in which PyTorch's compiler leaves the code that it generates: the recorder counts
 * them, the importer reads them.
 */

#include <stddef.h>
#include <string.h>

#define VT_GENERATED_SUFFIX   ".py"
#define VT_GENERATED_NAME_LEN 52 /* "c", and the first 51 letters of a hash in base 32 */

/* ".../ab/cab...xyz.py", whose folder repeats two letters of the name; need not end with NUL. */
static inline int vt_is_generated_name(const char *file, size_t len)
{
	const size_t suffix_len = sizeof(VT_GENERATED_SUFFIX) - 1;
	const char *name;

	if (len < sizeof("/ab/") - 1 + VT_GENERATED_NAME_LEN + suffix_len ||
	    memcmp(file + len - suffix_len, VT_GENERATED_SUFFIX, suffix_len) != 0)
		return 0;
	name = file + len - suffix_len - VT_GENERATED_NAME_LEN;
	for (size_t i = 0; i < VT_GENERATED_NAME_LEN; i++)
		if ((name[i] < 'a' || name[i] > 'z') && (name[i] < '2' || name[i] > '7'))
			return 0;
	return name[0] == 'c' && name[-1] == '/' && name[-4] == '/' &&
	       !memcmp(name - 3, name + 1, 2);
}

#endif
