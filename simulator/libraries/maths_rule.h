/* SPDX-License-Identifier: MIT */
#ifndef VTS_MATHS_RULE_H
#define VTS_MATHS_RULE_H

/* How a function of a maths library is answered without code for it (maths_rules.def). */

#include <stdint.h>

enum vts_maths_write {
	VTS_MATHS_WRITE_NOTHING,
	VTS_MATHS_WRITE_HANDLE,
	VTS_MATHS_WRITE_INT_0,
	VTS_MATHS_WRITE_INT_1,
	VTS_MATHS_WRITE_SIZE_0,
	VTS_MATHS_WRITE_SIZE_1,
	VTS_MATHS_WRITE_SIZE_2,
	VTS_MATHS_WRITE_TEXT,
	VTS_MATHS_WRITE_ZEROS_48,
	VTS_MATHS_WRITE_ZEROS_64,
	VTS_MATHS_WRITE_ZEROS_96,
};

enum { VTS_MATHS_MAX_WRITES = 3 };

struct vts_maths_rule {
	const char *pattern; /* of function names, as fnmatch() */
	uint64_t returns;
	struct {
		enum vts_maths_write kind;
		int argument; /* that points to where it is written */
	} writes[VTS_MATHS_MAX_WRITES];
};

/* The text of every function whose name promises one. */
extern const char vts_maths_text[];

#endif
