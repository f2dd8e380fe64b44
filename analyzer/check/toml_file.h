/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TOML_FILE_H
#define VT_ANALYZER_TOML_FILE_H

/*
 * A TOML file of tables without tables in them, as a list of its values with their lines.  The only
 * user of toml++ is toml_file.cpp.  It is C++ because Debian has no C library for TOML (12 and 13:
 * toml++, toml11 and cpptoml only); the C++ library is linked for demangling in any case.
 */

#ifdef __cplusplus
extern "C" {
#endif

#include <stddef.h>

#include "analyzer/base/diag.h"

/* Of an empty array there is one value, without text; of any other, one per element. */
enum vt_toml_kind { VT_TOML_STRING, VT_TOML_INTEGER, VT_TOML_EMPTY_ARRAY, VT_TOML_OTHER };

struct vt_toml_value {
	char *table; /* "" at the top of the file */
	char *key;
	char *text; /* of a string or an integer */
	enum vt_toml_kind kind;
	int is_element; /* of an array, each of which is a value */
	int line;
};

struct vt_toml_file {
	struct vt_toml_value *values; /* in the order of the file */
	unsigned nr;
};

/*
 * Returns 0, or -1 with `diag` filled with file, line and what is wrong (exit code 3).
 * vt_toml_file_release in both cases.
 */
int vt_toml_file_read(struct vt_toml_file *file, const char *path, struct vt_diag *diag);
/* The same of text in memory, which need not end with a NUL; `path` is what messages call it. */
int vt_toml_file_parse(struct vt_toml_file *file, const char *path, const char *text, size_t len,
		       struct vt_diag *diag);
void vt_toml_file_release(struct vt_toml_file *file);

#ifdef __cplusplus
}
#endif

#endif
