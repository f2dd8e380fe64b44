/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FAMILIES_H
#define VT_ANALYZER_FAMILIES_H

/*
 * families.ini: how the config.json of a kind of model is read.
 */

#include <stddef.h>

#define VT_FAMILY_FALLBACK "default"

int vt_families_is_known(const char *family);

typedef int (*vt_families_key_fn)(const char *key, const void *context);
/*
 * The family of which `has_key` says yes to all keys that it is recognised by, and to most of them;
 * buf[size] or NULL.
 */
const char *vt_families_recognise(vt_families_key_fn has_key, const void *context, char *buf,
				  size_t size);

/* The value of `key`, [default]'s where the family has none; "" where neither has.  buf[size]. */
const char *vt_families_get(const char *family, const char *key, char *buf, size_t size);

/* Whether a word of the value is `word`. */
int vt_families_has(const char *family, const char *key, const char *word);

/* ... of the value in the family's own section: nothing is taken from another. */
int vt_families_says(const char *family, const char *key, const char *word);

#endif
