/* SPDX-License-Identifier: MIT */
#include "preload/intern.h"

#include <string.h>

#include "common/journal_format.h"
#include "preload/ids.h"
#include "preload/journal.h"

#define TABLE_BITS 16		/* scopes, type names, node classes: hundreds, thousands at most */
/*
 * Names of tensors: five per parameter of a model with 25,000 of them.  A separate table, for a
 * full one would have every later scope written each time.
 */
#define NAME_TABLE_BITS 18
#define LONGEST_STRING 4096u

static struct {
	struct vt_ids ids;	/* gives out the ids of both */
	struct vt_ids names;
} g;

int vt_intern_reset(void)
{
	int err = vt_ids_reset(&g.ids, TABLE_BITS);

	return err ? err : vt_ids_reset(&g.names, NAME_TABLE_BITS);
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

static uint32_t intern(struct vt_ids *table, const char *text, size_t len)
{
	struct vt_key key;
	uint32_t id;

	if (!text || !len)
		return 0;
	if (len > LONGEST_STRING)
		len = LONGEST_STRING;
	key = vt_ids_key(text, len);
	id = vt_ids_find(table, &key);
	if (id)
		return id;
	id = vt_ids_next(&g.ids);
	if (write_string(id, text, len))
		return 0;
	vt_ids_publish(table, &key, id);
	return id;
}

uint32_t vt_intern_string(const char *text, size_t len)
{
	return intern(&g.ids, text, len);
}

uint32_t vt_intern_name(const char *text, size_t len)
{
	return intern(&g.names, text, len);
}
