/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <unistd.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/import/device_samples.h"
#include "analyzer/model/samples.h"
#include "tests/lib/database_builder.h"

#define MS   1000000
#define LONG (100 * MS) /* so long after an event that all is quiet */

static void segment(struct builder_db *b, int device, uint64_t size)
{
	build_alloc(b, &(struct build_event){ .kind = VT_KIND_SEGMENT,
					      .device = device,
					      .size = size });
}

/* The builder's events are 1 ms apart: this many make a pause. */
static void pause_for(struct builder_db *b, unsigned ms)
{
	while (ms--)
		build_mark(b, "tick", VT_MARK_POINT, VT_SOURCE_USER);
}

/* Twice the same. */
static void settled(struct builder_db *b, int64_t after_ns, uint64_t total, uint64_t process)
{
	build_sample(b, 0, after_ns, total, process);
	build_sample(b, 0, after_ns + 50 * MS, total, process);
}

static void open_run(struct vt_analysis *analysis)
{
	struct vt_diag diag = { 0 };

	if (vt_analysis_open(analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
}

static void the_last_quiet_sample_by_then_speaks(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_outside outside;

	(void)state;
	build_device(b, 0, 8ull << 30, 999);
	segment(b, 0, 1000);
	build_sample(b, 0, LONG, 9000, 9000); /* each said once */
	build_sample(b, 0, LONG + 50 * MS, 9100, 9100);
	settled(b, 2 * LONG, 1700, 1300);
	pause_for(b, 500);
	segment(b, 0, 4000);
	segment(b, 1, 70000);
	settled(b, 10 * MS, 8000, 8000); /* too near to what was before */
	settled(b, 2 * LONG, 6700, 5900);
	build_close(b);
	open_run(&analysis);

	outside = vt_samples_at(&analysis.model, 0, 5 * LONG);
	assert_true(outside.has_context && outside.has_other);
	assert_int_equal(outside.context_bytes, 300);
	assert_int_equal(outside.other_bytes, 400);
	outside = vt_samples_at(&analysis.model, 0, 10 * LONG);
	assert_int_equal(outside.context_bytes, 900);
	assert_int_equal(outside.other_bytes, 800);
	/* Before the first one, that one. */
	outside = vt_samples_at(&analysis.model, 0, 0);
	assert_int_equal(outside.context_bytes, 300);
	/* Another device's say nothing of this one. */
	outside = vt_samples_at(&analysis.model, 1, 10 * LONG);
	assert_false(outside.has_other);
	vt_analysis_close(&analysis);
}

/* Two looks that agree, and between them memory came and went. */
static void what_moved_between_two_looks_is_not_quiet(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;

	(void)state;
	segment(b, 0, 1000);
	build_sample(b, 0, LONG, 1700, 1300);
	pause_for(b, 200);
	segment(b, 0, 10);
	build_sample(b, 0, 0, 1700, 1300);
	build_close(b);
	open_run(&analysis);

	assert_int_equal(analysis.model.nr_samples, 2);
	assert_false(analysis.model.samples[1].is_quiet);
	assert_int_equal(analysis.model.samples[1].recorded_bytes, 1010);
	vt_analysis_close(&analysis);
}

static void the_growth_is_from_the_first_to_the_last(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	uint64_t first, last;

	(void)state;
	build_device(b, 0, 8ull << 30, 999);
	segment(b, 0, 1000);
	settled(b, LONG, 1500, 1500);
	settled(b, 2 * LONG, 1800, 1800);
	settled(b, 3 * LONG, 1400, 900); /* less than what was recorded: torn down */
	build_close(b);
	open_run(&analysis);

	assert_int_equal(vt_samples_context_growth(&analysis.model, 0, &first, &last), 1);
	assert_int_equal(first, 500);
	assert_int_equal(last, 800);
	assert_int_equal(vt_samples_context_growth(&analysis.model, 1, &first, &last), 0);
	vt_analysis_close(&analysis);
}

/* All samples fell between allocations: the first measurement had everybody in it. */
static void a_busy_program_has_its_measured_context_without_the_others(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_outside outside;

	(void)state;
	build_device(b, 0, 8ull << 30, 999);
	segment(b, 0, 1000);
	build_sample(b, 0, 10, 2500, 1900);
	build_close(b);
	open_run(&analysis);
	outside = vt_samples_at(&analysis.model, 0, LONG);

	assert_int_equal(outside.context_bytes, 399);
	assert_int_equal(outside.other_bytes, 600);
	vt_analysis_close(&analysis);
}

static void without_its_process_a_sample_tells_nothing(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_outside outside;

	(void)state;
	build_device(b, 0, 8ull << 30, 999);
	segment(b, 0, 1000);
	settled(b, LONG, 2500, 0);
	build_close(b);
	open_run(&analysis);
	outside = vt_samples_at(&analysis.model, 0, LONG);

	assert_true(outside.has_context);
	assert_false(outside.has_other);
	assert_int_equal(outside.context_bytes, 999);
	vt_analysis_close(&analysis);
}

/* With NVML or without: nobody has a device of that name. */
static void an_unknown_device_is_left_out(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_device_samples *samples;
	struct vt_diag diag = { 0 };
	struct vt_db *db;

	(void)state;
	build_run(b, "uuid:0", "00000000-0000-0000-0000-000000000000");
	build_close(b);
	assert_int_equal(vt_db_open(&db, "run.db", VT_DB_WRITE, &diag), 0);
	samples = vt_device_samples_open(db, (uint32_t)getpid());
	vt_device_samples_take(samples);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM device_sample"), 0);
	vt_device_samples_close(samples);
	vt_db_close(db);
}

/* The collector looks again 50 ms later, and then no more while nothing moves. */
static void the_first_look_may_follow_at_once(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;

	(void)state;
	build_device(b, 0, 8ull << 30, 999);
	segment(b, 0, 1000);
	settled(b, 1 * MS, 1700, 1300);
	build_close(b);
	open_run(&analysis);
	assert_int_equal(vt_samples_at(&analysis.model, 0, 5 * LONG).context_bytes, 300);
	vt_analysis_close(&analysis);
}

/* Each of them grew after a sample, and the driver said so before the next one. */
static void what_the_next_sample_has_more_was_there_when_the_driver_said_it(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_outside outside;

	(void)state;
	build_device(b, 0, 8ull << 30, 300);
	segment(b, 0, 1000);
	settled(b, LONG, 1700, 1300);
	pause_for(b, 300);
	build_memory_info(b, 0, 8ull << 30, 1000 + 300 + 400 + 5000 + 60 + 7);
	settled(b, LONG, 6760, 1360);
	build_close(b);
	open_run(&analysis);

	outside = vt_samples_at(&analysis.model, 0, 302 * MS);
	assert_int_equal(outside.other_bytes, 5400);
	assert_int_equal(outside.context_bytes, 360);
	assert_int_equal(outside.difference_bytes, 7);
	vt_analysis_close(&analysis);
}

static void what_no_sample_explains_is_the_difference(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_outside outside;

	(void)state;
	build_device(b, 0, 8ull << 30, 300);
	segment(b, 0, 1000);
	settled(b, LONG, 1700, 1300);
	pause_for(b, 300);
	build_memory_info(b, 0, 8ull << 30, 1700 + 5000);
	build_close(b);
	open_run(&analysis);

	outside = vt_samples_at(&analysis.model, 0, 302 * MS);
	assert_int_equal(outside.other_bytes, 400);
	assert_int_equal(outside.context_bytes, 300);
	assert_int_equal(outside.difference_bytes, 5000);
	vt_analysis_close(&analysis);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_enter, unit_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_last_quiet_sample_by_then_speaks),
		TEST(the_first_look_may_follow_at_once),
		TEST(what_moved_between_two_looks_is_not_quiet),
		TEST(the_growth_is_from_the_first_to_the_last),
		TEST(a_busy_program_has_its_measured_context_without_the_others),
		TEST(without_its_process_a_sample_tells_nothing),
		TEST(an_unknown_device_is_left_out),
		TEST(what_the_next_sample_has_more_was_there_when_the_driver_said_it),
		TEST(what_no_sample_explains_is_the_difference),
	};

	return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
