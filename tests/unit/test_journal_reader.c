/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/import/journal_reader.h"

static int count(struct vt_journal_reader *reader)
{
	int n = 0;

	while (vt_journal_reader_next(reader))
		n++;
	return n;
}

static int read_dead(const struct builder *b, uint64_t nr_slots, uint64_t *torn)
{
	struct vt_journal_reader reader;
	int n;

	vt_journal_reader_init(&reader, 0);
	reader.is_writer_dead = 1;
	vt_journal_reader_feed(&reader, builder_slots(b), nr_slots);
	n = count(&reader);
	*torn = reader.torn_records;
	assert_int_equal(reader.slot, nr_slots);
	return n;
}

static void a_living_writer_is_waited_for(void **state)
{
	struct vt_journal_reader reader;
	struct vt_record *late;
	struct builder b;
	uint64_t slot;

	(void)state;
	builder_init(&b);
	builder_string(&b, 1, "one");
	slot = builder_append(&b, VT_RECORD_STRING, &(struct vt_string_record){ .id = 2 },
			      sizeof(struct vt_string_record));
	builder_string(&b, 3, "three");
	late = (void *)(b.bytes + VT_JOURNAL_HEADER_BYTES + slot * VT_SLOT_BYTES);
	late->commit = 0;

	vt_journal_reader_init(&reader, 0);
	vt_journal_reader_feed(&reader, builder_slots(&b), b.nr_slots);
	assert_int_equal(count(&reader), 1);
	assert_int_equal(reader.slot, slot);
	assert_int_equal(count(&reader), 0);

	late->commit = vt_record_commit(slot);
	assert_int_equal(count(&reader), 2);
	assert_int_equal(reader.torn_records, 0);
	builder_release(&b);
}

/* A thread was cancelled in between: the others' records must not wait for it for ever. */
static void a_hole_that_grows_old_is_passed(void **state)
{
	struct vt_journal_reader reader;
	struct builder b;
	uint64_t hole;

	(void)state;
	builder_init(&b);
	builder_alloc(&b, VT_KIND_SEGMENT, 1, 1);
	hole = b.nr_slots;
	builder_tear(&b, 2);
	/* The program slept before; what counts is what came since. */
	b.time_ns += 10 * VT_JOURNAL_HOLE_NS;
	builder_string(&b, 1, "one");
	builder_tear(&b, 1);
	builder_alloc(&b, VT_KIND_SEGMENT, 2, 2);
	b.time_ns += VT_JOURNAL_HOLE_NS / 2;
	builder_alloc(&b, VT_KIND_SEGMENT, 3, 3);
	builder_tear(&b, 1);
	vt_journal_reader_init(&reader, 0);
	vt_journal_reader_feed(&reader, builder_slots(&b), b.nr_slots);
	assert_int_equal(count(&reader), 1);
	assert_int_equal(reader.slot, hole);

	hole = b.nr_slots - 1;
	b.time_ns += VT_JOURNAL_HOLE_NS / 2;
	builder_alloc(&b, VT_KIND_SEGMENT, 4, 4);
	builder_string(&b, 2, "two");
	vt_journal_reader_feed(&reader, builder_slots(&b), b.nr_slots);
	assert_int_equal(count(&reader), 3);
	assert_int_equal(reader.torn_records, 2);
	/* The last hole is as young as what stands behind it. */
	assert_int_equal(reader.slot, hole);
	builder_release(&b);
}

static void a_dead_writers_gaps_are_passed_and_counted(void **state)
{
	struct builder b;
	uint64_t torn;

	(void)state;
	builder_init(&b);
	builder_string(&b, 1, "one");
	builder_tear(&b, 2);
	builder_string(&b, 2, "two");
	builder_string(&b, 3, "three");
	builder_tear(&b, 1);
	assert_int_equal(read_dead(&b, b.nr_slots, &torn), 3);
	assert_int_equal(torn, 2);
	builder_release(&b);
}

static void a_record_with_a_wrong_sum_is_torn(void **state)
{
	struct builder b;
	uint64_t torn;

	(void)state;
	builder_init(&b);
	builder_string(&b, 1, "one");
	builder_string(&b, 2, "two");
	b.bytes[VT_JOURNAL_HEADER_BYTES + 30] ^= 1;
	assert_int_equal(read_dead(&b, b.nr_slots, &torn), 1);
	assert_int_equal(torn, 1);
	builder_release(&b);
}

static void a_record_that_claims_more_than_it_has_is_not_returned(void **state)
{
	struct vt_string_record liar = { .id = 1, .len = 4000 };
	struct builder b;
	uint64_t torn;

	(void)state;
	builder_init(&b);
	builder_append(&b, VT_RECORD_STRING, &liar, sizeof(liar));
	builder_string(&b, 2, "two");
	assert_int_equal(read_dead(&b, b.nr_slots, &torn), 1);
	assert_int_equal(torn, 1);
	builder_release(&b);
}

static void pads_are_passed_and_chunks_are_crossed(void **state)
{
	char long_text[1000];
	struct builder b;
	uint64_t torn;
	int n = 0;

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	builder_init(&b);
	/* 17 slots each do not divide a chunk. */
	while (b.nr_slots < 2 * VT_CHUNK_SLOTS + 100) {
		builder_string(&b, (uint32_t)++n, long_text);
	}
	assert_int_equal(read_dead(&b, b.nr_slots, &torn), n);
	assert_int_equal(torn, 0);
	builder_release(&b);
}

static void every_prefix_gives_a_prefix(void **state)
{
	int complete, last = 0;
	struct builder b;
	uint64_t torn;

	(void)state;
	builder_init(&b);
	for (uint32_t i = 1; i <= 40; i++) {
		builder_string(&b, i,
			       i % 3 ? "short"
				     : "a text that is too long for only one slot of them");
		builder_alloc(&b, VT_KIND_BLOCK, i, i);
	}
	complete = read_dead(&b, b.nr_slots, &torn);
	assert_int_equal(complete, 80);
	for (uint64_t n = 0; n <= b.nr_slots; n++) {
		int records = read_dead(&b, n, &torn);

		assert_in_range(records, last, last + 1);
		assert_true(torn <= 1);
		last = records;
	}
	assert_int_equal(last, complete);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_living_writer_is_waited_for),
		cmocka_unit_test(a_hole_that_grows_old_is_passed),
		cmocka_unit_test(a_dead_writers_gaps_are_passed_and_counted),
		cmocka_unit_test(a_record_with_a_wrong_sum_is_torn),
		cmocka_unit_test(a_record_that_claims_more_than_it_has_is_not_returned),
		cmocka_unit_test(pads_are_passed_and_chunks_are_crossed),
		cmocka_unit_test(every_prefix_gives_a_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
