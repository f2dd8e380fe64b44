/* SPDX-License-Identifier: MIT */
/* The order of events, however they are numbered. */
#include "tests/lib/unit.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_ends_comes_before_what_begins_with_it,
						unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(any_numbers_are_put_in_order, unit_enter,
						unit_leave),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
