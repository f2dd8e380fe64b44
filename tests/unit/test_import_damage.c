/* SPDX-License-Identifier: MIT */
/* Whatever bytes a journal holds: the import ends, and what it leaves is a database that opens. */
#include "tests/lib/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/import/import.h"
#include "tests/lib/sample_journal.h"

#define ROUNDS 150

static struct {
	unsigned int seed;
} g = { 20240229 };

static uint32_t number(uint32_t below)
{
	return (uint32_t)rand_r(&g.seed) % below;
}

/* An import of damaged slots may refuse, never crash.  Returns the number of events it took. */
static int64_t survive(const struct vt_journal_header *header, const void *slots, uint64_t nr_slots)
{
	struct vt_diag diag = { 0 };
	struct vt_import *im = NULL;
	struct vt_db *db = NULL;
	int64_t taken, events;

	assert_int_equal(vt_db_open(&db, "damage.db", VT_DB_CREATE, NULL), 0);
	vt_db_exec(db, "PRAGMA synchronous=OFF");
	assert_int_equal(vt_import_open(&im, db, header, &diag), 0);
	do
		taken = vt_import_batch(im, header, slots, nr_slots, 1, 7, &diag);
	while (taken > 0);
	if (!taken)
		assert_int_equal(vt_import_finish(im, header, 0, &diag), 0);
	vt_import_close(im);
	vt_db_close(db);
	assert_int_equal(vt_db_open(&db, "damage.db", VT_DB_READ, NULL), 0);
	unit_assert_text(db, "PRAGMA quick_check", "ok");
	events = vt_db_run_get_int(db, "events", -1);
	vt_db_close(db);
	unlink("damage.db");
	return events;
}

static void flip_bytes(struct builder *b)
{
	for (uint32_t n = 1 + number(40); n; n--)
		b->bytes[VT_JOURNAL_HEADER_BYTES +
			 number((uint32_t)(b->nr_slots * VT_SLOT_BYTES))] =
			(unsigned char)number(256);
}

static void random_damage_is_survived(void **state)
{
	struct builder b;
	int64_t all;

	(void)state;
	builder_init(&b);
	sample_journal(&b);
	all = (int64_t)b.nr_events;
	builder_release(&b);
	for (int round = 0; round < ROUNDS; round++) {
		builder_init(&b);
		sample_journal(&b);
		flip_bytes(&b);
		assert_in_range(survive(builder_header(&b), builder_slots(&b), b.nr_slots), 0, all);
		builder_release(&b);
	}
}

/* Damage that the checksum does not find: the payload is random, the sum right. */
static void random_payloads_are_survived(void **state)
{
	struct builder b;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		builder_init(&b);
		sample_journal(&b);
		for (uint64_t slot = 0; slot < b.nr_slots;) {
			struct vt_record *record =
				(void *)(b.bytes + VT_JOURNAL_HEADER_BYTES + slot * VT_SLOT_BYTES);
			unsigned char *payload = (unsigned char *)record + 16;
			uint32_t bytes = record->nr_slots * VT_SLOT_BYTES - 16;

			if (!record->nr_slots) {
				slot++;
				continue;
			}
			if (!number(4)) {
				for (uint32_t n = 1 + number(8); n; n--)
					payload[number(bytes < 80 ? bytes : 80)] =
						(unsigned char)(number(3) ? number(256) : 255);
				if (!number(3))
					record->type = (uint16_t)number(14);
				record->sum = vt_record_sum(record);
			}
			slot += record->nr_slots;
		}
		survive(builder_header(&b), builder_slots(&b), b.nr_slots);
		builder_release(&b);
	}
}

static void random_bytes_are_survived(void **state)
{
	struct vt_journal_header header = { .pid = 1 };
	uint64_t nr_slots = 200;
	uint32_t *words = malloc(nr_slots * VT_SLOT_BYTES);

	(void)state;
	for (int round = 0; round < 50; round++) {
		for (uint64_t i = 0; i < nr_slots * VT_SLOT_BYTES / 4; i++)
			words[i] = number(UINT32_MAX);
		/* Some heads look committed. */
		for (uint64_t slot = 0; slot < nr_slots; slot += 1 + number(5)) {
			struct vt_record *record = (void *)(words + slot * VT_SLOT_BYTES / 4);

			record->commit = vt_record_commit(slot);
			record->type = (uint16_t)number(12);
		}
		assert_in_range(survive(&header, words, nr_slots), 0, 200);
	}
	free(words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_damage_is_survived),
		cmocka_unit_test(random_payloads_are_survived),
		cmocka_unit_test(random_bytes_are_survived),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
