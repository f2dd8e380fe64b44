/* SPDX-License-Identifier: MIT */
#include "preload/intern.h"

#include <string.h>

#include "common/journal_format.h"
#include "preload/ids.h"
#include "preload/journal.h"

#define TABLE_BITS 16		/* scopes, type names, node classes: hundreds, thousands at most */
#define LONGEST_STRING 4096u

static struct {
	struct vt_ids ids;
} g;

int vt_intern_reset(void)
{
	return vt_ids_reset(&g.ids, TABLE_BITS);
}

static int write_string(uint32_t id, const char *text, size_t len)
{
	struct vt_string_record *record;
	size_t bytes = sizeof(*record) + len;
	uint64_t slot;

	record = vt_journal_reserve(bytes, &slot);
	if (!record)
		return -1;
	record->id = id;
	record->len = (uint32_t)len;
	memcpy(record->text, text, len);
	vt_journal_commit(record, slot, bytes, VT_RECORD_STRING);
	return 0;
}

uint32_t vt_intern_string(const char *text, size_t len)
{
	struct vt_key key;
	uint32_t id;

	if (!text || !len)
		return 0;
	if (len > LONGEST_STRING)
		len = LONGEST_STRING;
	key = vt_ids_key(text, len);
	id = vt_ids_find(&g.ids, &key);
	if (id)
		return id;
	id = vt_ids_next(&g.ids);
	if (write_string(id, text, len))
		return 0;
	vt_ids_publish(&g.ids, &key, id);
	return id;
}
