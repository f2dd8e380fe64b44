/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/leak.h"

#define TEXT(name, text) text,
const char *const vt_leak_forms[VT_NR_LEAK_FORMS] = { VT_LEAK_FORMS(TEXT) };

int vt_leak_compare_bytes(const void *a, const void *b)
{
	const struct vt_leak *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->allocation < y->allocation ? -1 : x->allocation > y->allocation;
}
