/* SPDX-License-Identifier: MIT */
/*
 * What piles up from round to round: programs of allocations and marks, one per shape that growth,
 * or what looks like it, has.
 */
#include "tests/lib/unit.h"

#include <unistd.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"
#include "analyzer/diagnosis/leaks.h"
#include "analyzer/model/when.h"
#include "tests/lib/database_builder.h"

#define ROUNDS 20
#define KIB    1024u

struct program {
	struct builder_db *b;
	int64_t kept[ROUNDS];
	uint32_t round;
};

static int64_t make(struct program *p, uint64_t size, const char *line)
{
	return build_alloc(p->b, &(struct build_event){ .size = size, .python = line });
}

static void drop(struct program *p, int64_t allocation)
{
	build_free(p->b, allocation, &(struct build_event){ .python = "serve.py:90 main" });
}

static void work(struct program *p, uint64_t size)
{
	for (int i = 0; i < 20; i++)
		drop(p, make(p, size, "serve.py:50 work"));
}

static void accumulate(struct program *p)
{
	p->kept[p->round] = make(p, 8 * KIB, "serve.py:10 accumulate");
}

/* Every third round gives two thirds back. */
static void sawtooth(struct program *p)
{
	uint32_t i = p->round;

	p->kept[i] = make(p, 8 * KIB, "serve.py:11 sawtooth");
	if (i % 3 == 2)
		for (uint32_t k = i - 2; k <= i; k++)
			drop(p, p->kept[k]);
}

/* The last four are kept. */
static void window(struct program *p)
{
	p->kept[p->round] = make(p, 8 * KIB, "serve.py:12 window");
	if (p->round >= 4)
		drop(p, p->kept[p->round - 4]);
}

/* A block that holds all that came, and one more each time. */
static void replace(struct program *p, const char *line, const char *native)
{
	const struct build_event one = { .size = 8 * KIB * (p->round + 1),
					 .python = line,
					 .native = native };

	p->kept[p->round] = build_alloc(p->b, &one);
	if (p->round)
		drop(p, p->kept[p->round - 1]);
}

static void growing(struct program *p)
{
	replace(p, "serve.py:13 growing", NULL);
}

/* Rounds get larger, and the result of one is held until the next has its own. */
static void larger_results(struct program *p)
{
	work(p, 4 * KIB * (p->round + 1));
	replace(p, "serve.py:14 larger_results", "libtorch_cpu.so!at::_ops::addmm::call(x)");
}

/* They do because of what they look at. */
static void joined(struct program *p)
{
	work(p, 4 * KIB * (p->round + 1));
	replace(p, "serve.py:17 joined", "libtorch_cpu.so!at::_ops::cat::call(x)");
}

static void warm_up(struct program *p)
{
	if (p->round < 2)
		make(p, 512 * KIB, "serve.py:15 warm_up");
}

static void once(struct program *p)
{
	if (p->round == 7)
		make(p, 64 * KIB, "serve.py:16 once");
}

static const struct {
	const char *name;
	void (*round)(struct program *p);
	uint32_t nr_growth;
	enum vt_leak_form form;
	uint64_t bytes_per_iteration;
	uint32_t nr_since;
} programs[] = {
	{ "accumulating", accumulate, 1, VT_LEAK_ACCUMULATING, 8 * KIB, 0 },
	{ "sawtooth", sawtooth, 0, 0, 0, 0 },
	{ "window", window, 0, 0, 0, 1 },
	{ "growing", growing, 1, VT_LEAK_GROWING, 8 * KIB, 0 },
	{ "joined", joined, 1, VT_LEAK_GROWING, 8 * KIB, 0 },
	{ "larger results", larger_results, 0, 0, 0, 0 },
	{ "warm-up", warm_up, 0, 0, 0, 0 },
	{ "once", once, 0, 0, 0, 1 },
};

/* A mark opens each round; the last one only closes. */
static void write_program(void (*round)(struct program *p), uint32_t nr_rounds)
{
	struct program p = { .b = build_open("run.db") };

	build_device(p.b, 0, 1 << 30, 0);
	for (p.round = 0; p.round < nr_rounds; p.round++) {
		build_mark(p.b, "round", VT_MARK_POINT, VT_SOURCE_USER);
		work(&p, 4 * KIB);
		round(&p);
		work(&p, 4 * KIB);
	}
	build_mark(p.b, "round", VT_MARK_POINT, VT_SOURCE_USER);
	work(&p, 4 * KIB);
	build_close(p.b);
}

static void find(struct vt_leaks *leaks, struct vt_analysis *analysis)
{
	const struct vt_leaks_options options = { .device = VT_WHEN_ALL_DEVICES, .has_ended = 1 };
	struct vt_diag diag = { 0 };

	if (vt_analysis_open(analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
	vt_leaks_init(leaks, &analysis->attribution, &options);
}

static void end(struct vt_leaks *leaks, struct vt_analysis *analysis)
{
	vt_leaks_release(leaks);
	vt_analysis_close(analysis);
	unlink("run.db");
}

static void every_program_is_judged(void **state)
{
	struct vt_analysis analysis;
	struct vt_leaks leaks;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(programs); i++) {
		write_program(programs[i].round, ROUNDS);
		find(&leaks, &analysis);
		if (leaks.nr_growth != programs[i].nr_growth ||
		    leaks.nr_since != programs[i].nr_since)
			fail_msg("%s: %u grow, %u kept", programs[i].name, leaks.nr_growth,
				 leaks.nr_since);
		if (leaks.nr_growth) {
			assert_int_equal(leaks.growth[0].form, programs[i].form);
			assert_int_equal((uint64_t)leaks.growth[0].bytes_per_iteration,
					 programs[i].bytes_per_iteration);
			assert_int_equal(leaks.growth[0].trend.confidence, VT_CONFIDENCE_HIGH);
		}
		end(&leaks, &analysis);
	}
}

static void turns_are_counted_from_one(void **state)
{
	struct vt_analysis analysis;
	struct vt_leaks leaks;

	(void)state;
	write_program(once, ROUNDS);
	find(&leaks, &analysis);
	assert_int_equal(leaks.iterations.kind, VT_ITERATION_MARK);
	assert_int_equal(leaks.iterations.nr, ROUNDS);
	assert_int_equal(leaks.nr_warm_up, 2);
	assert_int_equal(leaks.since[0].first_iteration, 8);
	assert_int_equal(leaks.since[0].bytes, 64 * KIB);
	end(&leaks, &analysis);
}

static void few_rounds_tell_nothing(void **state)
{
	struct vt_analysis analysis;
	struct vt_leaks leaks;

	(void)state;
	write_program(accumulate, VT_ITERATIONS_RHYTHM - 1);
	find(&leaks, &analysis);
	assert_int_equal(leaks.iterations.kind, VT_ITERATION_MARK);
	assert_int_equal(leaks.iterations.nr, VT_ITERATIONS_RHYTHM - 1);
	assert_int_equal(leaks.nr_points, 0);
	assert_int_equal(leaks.nr_growth, 0);
	end(&leaks, &analysis);
}

/* More rounds than a trend has points: several make one, and the growth is still that of one. */
static void many_rounds_keep_their_slope(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_leaks leaks;

	(void)state;
	build_device(b, 0, 1 << 30, 0);
	for (int i = 0; i < 1000; i++) {
		build_mark(b, "round", VT_MARK_POINT, VT_SOURCE_USER);
		build_alloc(b, &(struct build_event){ .size = 512,
						      .python = "serve.py:10 accumulate" });
	}
	build_close(b);
	find(&leaks, &analysis);
	assert_int_equal(leaks.iterations.nr, 999);
	assert_true(leaks.nr_points <= VT_TREND_MAX_POINTS && leaks.nr_points > 50);
	assert_int_equal(leaks.nr_growth, 1);
	assert_true(leaks.growth[0].bytes_per_iteration == 512);
	end(&leaks, &analysis);
}

/* A driver's client without Python, marks or modules: slices of its time. */
static void without_anything_time_is_cut(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_leaks leaks;

	(void)state;
	build_device(b, 0, 1 << 30, 0);
	for (int i = 0; i < 200; i++)
		build_alloc(b, &(struct build_event){ .kind = VT_KIND_SEGMENT,
						      .size = 4096,
						      .native = "client!handle < client!main" });
	build_close(b);
	find(&leaks, &analysis);
	assert_int_equal(leaks.iterations.kind, VT_ITERATION_SLICE);
	assert_int_equal(leaks.iterations.nr, 20);
	assert_int_equal(leaks.nr_warm_up, 5);
	assert_int_equal(leaks.nr_growth, 1);
	assert_int_equal((uint64_t)leaks.growth[0].bytes_per_iteration, 10 * 4096);
	assert_int_equal(leaks.growth[0].trend.confidence, VT_CONFIDENCE_MEDIUM);
	/* Nobody gave anything back. */
	assert_int_equal(leaks.leftovers.nr, 1);
	assert_int_equal(leaks.leftovers.items[0].blocks, 200);
	assert_int_equal(leaks.leftovers.items[0].bytes, 200 * 4096);
	end(&leaks, &analysis);
}

static void what_frameworks_keep_is_no_leftover(void **state)
{
	static const char handle[] =
		"libtorch_cuda.so!at::cuda::getCurrentCUDABlasHandle()";
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_leaks leaks;

	(void)state;
	build_device(b, 0, 1 << 30, 0);
	build_alloc(b, &(struct build_event){ .size = 32 * KIB,
					      .python = "serve.py:2 main",
					      .native = handle });
	build_alloc(b, &(struct build_event){ .size = 16 * KIB, .python = "serve.py:3 main" });
	build_close(b);
	find(&leaks, &analysis);
	assert_int_equal(leaks.leftovers.on_purpose_bytes, 32 * KIB);
	assert_int_equal(leaks.leftovers.nr, 1);
	assert_int_equal(leaks.leftovers.items[0].bytes, 16 * KIB);
	end(&leaks, &analysis);
}

static void block(struct builder *b, uint64_t address, uint64_t allocated_bytes)
{
	builder_event(b, (struct vt_event_record){ .op = VT_OP_ALLOC,
						   .kind = VT_KIND_BLOCK,
						   .address = address,
						   .size_bytes = 16 * KIB,
						   .allocated_bytes = allocated_bytes });
}

/* Bytes of leftovers: one block from before events were lost, and one since. */
static uint64_t left_after_a_loss(uint64_t allocated_bytes)
{
	struct vt_analysis analysis;
	struct vt_leaks leaks;
	struct builder b;
	uint64_t bytes = 0;

	unlink("run.db");
	builder_init(&b);
	block(&b, 0x10000000, 16 * KIB);
	builder_call(&b, 1, VT_OP_LOSS, VT_KIND_BLOCK, 0, 5, 0);
	block(&b, 0x10100000, allocated_bytes);
	builder_header(&b)->lost_events = 5;
	vt_db_close(unit_import(&b, "run.db"));
	builder_release(&b);
	find(&leaks, &analysis);
	for (uint32_t i = 0; i < leaks.leftovers.nr; i++)
		bytes += leaks.leftovers.items[i].bytes;
	end(&leaks, &analysis);
	return bytes;
}

static void what_lost_events_may_have_freed_is_no_leftover(void **state)
{
	(void)state;
	assert_int_equal(left_after_a_loss(16 * KIB), 16 * KIB);
	/* PyTorch's allocator has both. */
	assert_int_equal(left_after_a_loss(32 * KIB), 32 * KIB);
	/* It does not say: a driver's client. */
	assert_int_equal(left_after_a_loss(0), 16 * KIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_program_is_judged, unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(turns_are_counted_from_one, unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(few_rounds_tell_nothing, unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(many_rounds_keep_their_slope, unit_enter,
						unit_leave),
		cmocka_unit_test_setup_teardown(without_anything_time_is_cut, unit_enter,
						unit_leave),
		cmocka_unit_test_setup_teardown(what_frameworks_keep_is_no_leftover, unit_enter,
						unit_leave),
		cmocka_unit_test_setup_teardown(what_lost_events_may_have_freed_is_no_leftover,
						unit_enter, unit_leave),
	};

	return cmocka_run_group_tests_name("leaks", tests, NULL, NULL);
}
