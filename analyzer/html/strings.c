/* SPDX-License-Identifier: MIT */
#include "analyzer/html/strings.h"

#include <string.h>

#include "analyzer/output/json.h"

void vt_page_strings_init(struct vt_page_strings *strings)
{
	memset(strings, 0, sizeof(*strings));
	strings->all = json_array();
	json_array_append_new(strings->all, json_null());
}

void vt_page_strings_release(struct vt_page_strings *strings)
{
	vt_map_release(&strings->numbers);
	json_decref(strings->all);
}

uint32_t vt_page_strings_number(struct vt_page_strings *strings, const char *text)
{
	struct vt_key key;
	uint64_t *found;
	uint32_t number;

	if (!text)
		return 0;
	key = vt_map_text_key(text, strlen(text));
	found = vt_map_find(&strings->numbers, key);
	if (found)
		return (uint32_t)*found;
	number = (uint32_t)json_array_size(strings->all);
	json_array_append_new(strings->all, vt_json_text(text));
	vt_map_put(&strings->numbers, key, number);
	return number;
}
