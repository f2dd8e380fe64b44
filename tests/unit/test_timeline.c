/* SPDX-License-Identifier: MIT */
/* The order of events, however they are numbered. */
#include "tests/lib/unit.h"

#include <stdlib.h>

#include "analyzer/base/util.h"
#include "analyzer/model/timeline.h"
#include "tests/lib/allocations_sql.h"
#include "tests/lib/database_builder.h"

static struct {
	struct vt_db *db;
	struct vt_model model;
	struct vt_timeline timeline;
} g;

static void open_run(const char *change)
{
	struct vt_diag diag = { 0 };

	assert_int_equal(vt_db_open(&g.db, "run.db", VT_DB_WRITE, &diag), 0);
	assert_int_equal(vt_db_exec(g.db, vt_embedded_writable_allocations), 0);
	assert_int_equal(vt_db_exec(g.db, change), 0);
	assert_int_equal(vt_model_load(&g.model, g.db, &diag), 0);
	vt_timeline_init(&g.timeline, &g.model);
}

static void close_run(void)
{
	vt_timeline_release(&g.timeline);
	vt_model_release(&g.model);
	vt_db_close(g.db);
}

/* Frees come in another order than allocations; one ends at the event of another's beginning. */
static void make_run(void)
{
	struct builder_db *b = build_open("run.db");
	int64_t first = build_alloc(b, &(struct build_event){ .size = 512 });
	int64_t second = build_alloc(b, &(struct build_event){ .size = 512 });

	build_free(b, second, NULL);
	build_mark(b, "here", VT_MARK_POINT, VT_SOURCE_USER);
	build_free(b, first, NULL);
	build_alloc(b, &(struct build_event){ .size = 512 });
	build_close(b);
}

static void assert_order(const int64_t *events, const uint8_t *what, uint32_t nr)
{
	assert_int_equal(g.timeline.nr, nr);
	for (uint32_t i = 0; i < nr; i++) {
		assert_int_equal(vt_moment_event(g.timeline.model, &g.timeline.moments[i]),
				 events[i]);
		assert_int_equal(g.timeline.moments[i].what, what[i]);
	}
}

static void what_ends_comes_before_what_begins_with_it(void **state)
{
	static const int64_t events[] = { 1, 2, 3, 4, 6, 6, 6 };
	static const uint8_t what[] = { VT_MOMENT_ALLOC, VT_MOMENT_ALLOC, VT_MOMENT_FREE,
					VT_MOMENT_MARK,  VT_MOMENT_FREE,  VT_MOMENT_OTHER,
					VT_MOMENT_ALLOC };

	(void)state;
	make_run();
	open_run("UPDATE allocation SET freed_event = 6 WHERE id = 1;"
		 "INSERT INTO event VALUES (6, 0, 1, 7, 3, 0, 1, 0, 0, 0, NULL, NULL)");
	assert_order(events, what, VT_ARRAY_SIZE(events));
	close_run();
}

/* What no recording has becomes the nearest that one may have. */
static void any_numbers_are_put_in_order(void **state)
{
	static const int64_t events[] = { 0, 2, 4, 5, 6, VT_NEVER - 1 };
	static const uint8_t what[] = { VT_MOMENT_ALLOC, VT_MOMENT_ALLOC, VT_MOMENT_MARK,
					VT_MOMENT_FREE, VT_MOMENT_ALLOC, VT_MOMENT_FREE };

	(void)state;
	make_run();
	open_run("UPDATE allocation SET freed_event = 9223372036854775806 WHERE id = 2;"
		 "UPDATE allocation SET id = -7 WHERE id = 1");
	assert_order(events, what, VT_ARRAY_SIZE(events));
	close_run();
}

#define NR_MOST 12

static uint32_t below(unsigned int *seed, uint32_t nr)
{
	return (uint32_t)rand_r(seed) % nr;
}

/* A moment and its event; sorting by both is what a timeline is. */
struct expected {
	uint32_t event, what, index;
};

static int compare_expected(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void check_any(unsigned int *seed)
{
	struct vt_allocation allocations[NR_MOST] = { { 0 } };
	struct vt_other_event events[NR_MOST] = { { 0 } };
	struct vt_mark marks[NR_MOST] = { { 0 } };
	struct vt_out_of_memory ooms[NR_MOST] = { { 0 } };
	struct expected expected[5 * NR_MOST];
	/* Below, about and above as many numbers as there are moments; far apart. */
	uint32_t numbers[] = { 3, 20, 60, 5000 }, most = numbers[below(seed, 4)], nr = 0;
	struct vt_model model = { .allocations = allocations,
				  .nr_allocations = below(seed, 12),
				  .events = events,
				  .nr_events = below(seed, 12),
				  .marks = marks,
				  .nr_marks = below(seed, 12),
				  .ooms = ooms,
				  .nr_ooms = below(seed, 3),
				  .last_event = most };
	struct vt_timeline timeline;

	for (uint32_t i = 0; i < model.nr_allocations; i++) {
		allocations[i].event = below(seed, most);
		allocations[i].freed_event =
			below(seed, 3) ? allocations[i].event + 1 + below(seed, most) : VT_NEVER;
		expected[nr++] = (struct expected){ allocations[i].event, VT_MOMENT_ALLOC, i };
		if (allocations[i].freed_event != VT_NEVER)
			expected[nr++] =
				(struct expected){ allocations[i].freed_event, VT_MOMENT_FREE, i };
	}
	for (uint32_t i = 0; i < model.nr_events; i++) {
		events[i].event = below(seed, most);
		expected[nr++] = (struct expected){ (uint32_t)events[i].event, VT_MOMENT_OTHER, i };
	}
	for (uint32_t i = 0; i < model.nr_marks; i++) {
		marks[i].event = below(seed, most);
		expected[nr++] = (struct expected){ (uint32_t)marks[i].event, VT_MOMENT_MARK, i };
	}
	for (uint32_t i = 0; i < model.nr_ooms; i++) {
		ooms[i].event = below(seed, most);
		expected[nr++] =
			(struct expected){ (uint32_t)ooms[i].event, VT_MOMENT_OUT_OF_MEMORY, i };
	}
	qsort(expected, nr, sizeof(*expected), compare_expected);
	vt_timeline_init(&timeline, &model);
	assert_int_equal(timeline.nr, nr);
	for (uint32_t i = 0; i < nr; i++) {
		assert_int_equal(vt_moment_event(&model, &timeline.moments[i]), expected[i].event);
		assert_int_equal(timeline.moments[i].what, expected[i].what);
		assert_int_equal(timeline.moments[i].index, expected[i].index);
	}
	vt_timeline_release(&timeline);
}

/* Moments that have a number of their own, that share one, and that are beyond the last one. */
static void moments_of_any_numbers_are_put_in_order(void **state)
{
	unsigned int seed = 20240229;

	(void)state;
	for (int round = 0; round < 3000; round++)
		check_any(&seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_ends_comes_before_what_begins_with_it,
						unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(any_numbers_are_put_in_order, unit_enter,
						unit_leave),
		cmocka_unit_test(moments_of_any_numbers_are_put_in_order),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
