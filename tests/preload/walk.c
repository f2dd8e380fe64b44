/* SPDX-License-Identifier: MIT */
#include "tests/preload/walk.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

void walk_open(struct walk *walk, const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		fail_msg("no journal %s", path);
	assert_int_equal(fstat(fd, &status), 0);
	*walk = (struct walk){ .size_bytes = (size_t)status.st_size };
	walk->bytes = malloc(walk->size_bytes + 1);
	assert_non_null(walk->bytes);
	assert_int_equal(read(fd, walk->bytes, walk->size_bytes), walk->size_bytes);
	close(fd);
	assert_int_equal(vt_journal_check(walk->bytes, walk->size_bytes), VT_JOURNAL_OK);
}

void walk_close(struct walk *walk)
{
	free(walk->bytes);
	walk->bytes = NULL;
}

const struct vt_journal_header *walk_header(const struct walk *walk)
{
	return (const void *)walk->bytes;
}

const struct vt_record *walk_next(struct walk *walk)
{
	uint64_t end = (walk->size_bytes - VT_JOURNAL_HEADER_BYTES) / VT_SLOT_BYTES;

	if (end > walk_header(walk)->head_slots)
		end = walk_header(walk)->head_slots;
	while (walk->slot < end) {
		const struct vt_record *record =
			(const void *)(walk->bytes + VT_JOURNAL_HEADER_BYTES +
				       walk->slot * VT_SLOT_BYTES);

		if (!vt_record_is_valid(record, walk->slot, end - walk->slot)) {
			walk->slot++;
			walk->nr_torn++;
			continue;
		}
		assert_true(vt_record_is_sound(record));
		walk->slot += record->nr_slots;
		if (record->type != VT_RECORD_PAD)
			return record;
	}
	return NULL;
}

unsigned int walk_count(struct walk *walk, enum vt_record_type type)
{
	const struct vt_record *record;
	unsigned int nr = 0;

	walk->slot = 0;
	while ((record = walk_next(walk)))
		nr += record->type == type;
	return nr;
}

unsigned int walk_count_changes(struct walk *walk)
{
	const struct vt_record *record;
	unsigned int nr = 0;

	walk->slot = 0;
	while ((record = walk_next(walk)))
		nr += record->type == VT_RECORD_EVENT &&
		      ((const struct vt_event_record *)(const void *)record)->op !=
			      VT_OP_MEMORY_INFO;
	return nr;
}

struct vt_event_record walk_event(struct walk *walk, unsigned int function, unsigned int n)
{
	const struct vt_record *record;

	walk->slot = 0;
	while ((record = walk_next(walk))) {
		const struct vt_event_record *event = (const void *)record;

		if (record->type == VT_RECORD_EVENT && (!function || event->function == function) &&
		    n-- == 0)
			return *event;
	}
	fail_msg("no such event of function %u", function);
	return (struct vt_event_record){ 0 };
}

const char *walk_info(struct walk *walk, const char *key)
{
	static char value[65536];
	const struct vt_record *record;

	walk->slot = 0;
	while ((record = walk_next(walk))) {
		const struct vt_info_record *info = (const void *)record;

		if (record->type != VT_RECORD_INFO || info->key_len != strlen(key) ||
		    memcmp(info->text, key, info->key_len) != 0)
			continue;
		memcpy(value, info->text + info->key_len, info->value_len);
		value[info->value_len] = '\0';
		return value;
	}
	return NULL;
}
