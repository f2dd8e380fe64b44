/* SPDX-License-Identifier: MIT */
#ifndef VT_TESTS_PICKLE_BUILDER_H
#define VT_TESTS_PICKLE_BUILDER_H

/*
 * Writes pickles of protocol 4, opcode by opcode, as CPython does:
 *
 *	pickle_begin(&p);
 *	pickle_open(&p, '}'); pickle_text(&p, "segments"); pickle_open(&p, ']'); ...
 *	pickle_close(&p, 'e'); pickle_close(&p, 'u'); pickle_end(&p);
 */

#include "analyzer/base/util.h"

struct pickle {
	struct vt_buffer bytes;
	unsigned nr_memoized;
};

void pickle_begin(struct pickle *p);
void pickle_end(struct pickle *p);
void pickle_release(struct pickle *p);

void pickle_text(struct pickle *p, const char *text);
void pickle_number(struct pickle *p, int64_t number);
void pickle_byte(struct pickle *p, unsigned opcode);
/* An empty list or dict, ']' or '}', and the mark before its items; 'e' or 'u' ends them. */
void pickle_open(struct pickle *p, unsigned opcode);
void pickle_close(struct pickle *p, unsigned opcode);
/* What was the `index`th text, list or dict. */
void pickle_again(struct pickle *p, unsigned index);

#endif
