/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_INI_H
#define VT_COMMON_INI_H

/*
 * A reader of INI text in memory: "[section]", "key = value", "# comment".  Both the simulated
 * driver (inside a foreign process, no malloc) and the vtrace command read the device profiles with
 * it.
 */

#include <stddef.h>

/* One "key = value" line; the strings are borrowed from the text and not NUL-terminated. */
struct vt_ini_entry {
	const char *section;
	size_t section_len;
	const char *key;
	size_t key_len;
	const char *value;
	size_t value_len;
	unsigned int line; /* from 1 */
};

struct vt_ini {
	const char *text;
	size_t len;
	size_t pos;
	const char *section;
	size_t section_len;
	unsigned int line;
};

void vt_ini_init(struct vt_ini *ini, const char *text, size_t len);

/*
 * The next entry.  Returns 1 with *entry filled, 0 at the end, -1 on a line that is neither a
 * section, an entry, a comment nor blank; entry->line then names it and the next call goes on after
 * it.
 */
int vt_ini_next(struct vt_ini *ini, struct vt_ini_entry *entry);

#endif
