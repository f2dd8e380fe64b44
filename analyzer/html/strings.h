/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_STRINGS_H
#define VT_ANALYZER_HTML_STRINGS_H

/* Texts of a page, each once, by number; 0 is no text. */

#include <jansson.h>
#include <stdint.h>

#include "analyzer/base/map.h"

struct vt_page_strings {
	struct vt_map numbers;
	json_t *all;
};

void vt_page_strings_init(struct vt_page_strings *strings);
void vt_page_strings_release(struct vt_page_strings *strings);

uint32_t vt_page_strings_number(struct vt_page_strings *strings, const char *text);

#endif
