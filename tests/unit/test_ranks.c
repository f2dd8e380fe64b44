/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/util.h"
#include "analyzer/ranks/ranks.h"
#include "tests/lib/database_builder.h"

#define BASE	 0x700000000000ull
#define SECOND	 1000000000ll
#define WEIGHTS	 "torch/nn/m.py:1 Module._apply Net@1 < train.py:30 main"
#define OTHER	 "train.py:40 main"

struct process {
	const char *name; /* of the file */
	int rank, world;  /* below 0: no launcher told it */
	int device;
	const char *host, *job, *ended;
	int64_t start_s; /* wall clock */
	const char *command;
	uint64_t bytes;	 /* of the other block; 1 MiB of weights are on each */
};

static void set_number(struct builder_db *b, const char *key, int64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, number);
	build_run(b, key, text);
}

static void set_run(struct builder_db *b, const struct process *p)
{
	if (p->rank >= 0)
		set_number(b, "rank", p->rank);
	if (p->world >= 0)
		set_number(b, "world_size", p->world);
	set_number(b, "start_time_ns", 5 * SECOND);
	set_number(b, "start_realtime_ns", (1000 + p->start_s) * SECOND);
	set_number(b, "duration_ns", SECOND);
	build_run(b, "hostname", p->host ? p->host : "one");
	build_run(b, "ended", p->ended ? p->ended : "exit 0");
	if (p->command)
		build_run(b, "command", p->command);
	if (p->job)
		build_run(b, "job", p->job);
}

static void make(const struct process *p)
{
	char path[64];
	struct builder_db *b;

	snprintf(path, sizeof(path), "runs/%s.db", p->name);
	mkdir("runs", 0700);
	b = build_open(path);
	set_run(b, p);
	for (int d = 0; d <= p->device; d++)
		build_device(b, d, 8ull << 30, 0);
	build_alloc(b, &(struct build_event){ .kind = VT_KIND_SEGMENT, .address = BASE,
					      .size = 64 << 20, .device = p->device });
	build_alloc(b, &(struct build_event){ .address = BASE, .size = 1 << 20,
					      .python = WEIGHTS, .device = p->device });
	build_alloc(b, &(struct build_event){ .address = BASE + (1 << 20), .size = p->bytes,
					      .python = OTHER, .device = p->device });
	build_close(b);
}

static const struct vt_ranks_options options = { .rank.when = "most-allocated", .top = 3 };

static void open_ranks(struct vt_ranks *ranks)
{
	struct vt_diag diag = { 0 };

	if (vt_ranks_init(ranks, "runs", &options, &diag))
		fail_msg("%s", diag.text);
}

static const struct vt_ranks_figure *owner_of(const struct vt_ranks *ranks, const char *owner)
{
	for (uint32_t i = 0; i < ranks->nr_owners; i++)
		if (!strncmp(ranks->owners[i].owner, owner, strlen(owner)))
			return &ranks->owners[i];
	fail_msg("no %s", owner);
	return NULL;
}

static void owners_are_compared_over_ranks(void **state)
{
	const uint64_t *most;
	struct vt_ranks ranks;

	(void)state;
	make(&(struct process){ "a", 2, 4, 2, .bytes = 4096 });
	make(&(struct process){ "b", 0, 4, 0, .bytes = 4096 });
	make(&(struct process){ "c", 3, 4, 3, .bytes = 8192 });
	make(&(struct process){ "d", 1, 4, 1, .bytes = 2048 });
	open_ranks(&ranks);

	assert_int_equal(ranks.run->nr, 4);
	assert_int_equal(ranks.nr_missing, 0);
	assert_int_equal(ranks.nr_died, 0);
	assert_int_equal(ranks.run->ranks[3]->device, 3);
	assert_int_equal(owner_of(&ranks, "weights")->min_bytes, 1 << 20);
	assert_int_equal(owner_of(&ranks, "weights")->max_bytes, 1 << 20);
	assert_int_equal(owner_of(&ranks, "user")->min_bytes, 2048);
	assert_int_equal(owner_of(&ranks, "user")->max_bytes, 8192);
	assert_int_equal(owner_of(&ranks, "user")->sum_bytes, 18432);
	assert_int_equal(owner_of(&ranks, "user")->min_rank->number, 1);
	assert_int_equal(owner_of(&ranks, "user")->max_rank->number, 3);
	assert_true(vt_ranks_imbalance(&ranks, owner_of(&ranks, "user")) > 0.777);
	assert_true(vt_ranks_imbalance(&ranks, owner_of(&ranks, "user")) < 0.778);
	assert_int_equal(ranks.peak->number, 3);
	/* Of the two in the middle the lower; of equal ones the higher number. */
	assert_int_equal(ranks.median->number, 2);
	/* Their devices have other numbers. */
	assert_true(ranks.has_diff);
	assert_int_equal(ranks.diff.nr_devices, 1);
	most = ranks.diff.devices[0].most_allocated_bytes;
	assert_int_equal(most[VT_DIFF_BASE], (1 << 20) + 4096);
	assert_int_equal(most[VT_DIFF_NEW], (1 << 20) + 8192);
	vt_ranks_release(&ranks);
}

static void who_died_first_and_who_is_missing(void **state)
{
	struct vt_ranks ranks;

	(void)state;
	make(&(struct process){ "a", 0, 5, .ended = "signal 15", .start_s = 3, .bytes = 4096 });
	make(&(struct process){ "b", 3, 5, .ended = "signal 9", .start_s = 1, .bytes = 4096 });
	make(&(struct process){ "c", 4, 5, .bytes = 4096 });
	open_ranks(&ranks);

	assert_int_equal(ranks.nr_died, 2);
	assert_int_equal(ranks.died[0]->number, 3);
	assert_int_equal(ranks.died[1]->number, 0);
	assert_int_equal(ranks.nr_missing, 2);
	assert_int_equal(ranks.missing[0], 1);
	assert_int_equal(ranks.missing[1], 2);
	assert_false(ranks.has_diff);
	vt_ranks_release(&ranks);
}

/* Two processes of Python's multiprocessing, and the one that started them. */
static void make_spawned(uint64_t starter_bytes)
{
	static const char child[] = "[\"python\", \"-c\", \"from multiprocessing.spawn import"
				    " spawn_main\", \"--multiprocessing-fork\"]";

	make(&(struct process){ "a", -1, -1, .command = "[\"python\", \"train.py\"]",
				.bytes = starter_bytes });
	make(&(struct process){ "b", -1, -1, .command = child, .start_s = 1, .bytes = 4096 });
	make(&(struct process){ "c", -1, -1, .command = child, .start_s = 2, .bytes = 8192 });
}

/* mp.spawn sets no variables; the process that started the others is none of them. */
static void who_started_the_others_is_no_rank(void **state)
{
	struct vt_ranks ranks;

	(void)state;
	make_spawned(2048);
	open_ranks(&ranks);

	assert_int_equal(ranks.run->nr, 2);
	assert_string_equal(strrchr(ranks.run->ranks[0]->file, '/'), "/b.db");
	assert_int_equal(ranks.run->ranks[1]->number, 1);
	assert_string_equal(vt_ranks_runs_reason(&ranks.runs, &ranks.runs.files[0]),
			    "no rank: the parent of the others");
	vt_ranks_release(&ranks);
}

/* Workers of a DataLoader that touch the device are spawned like ranks, by who trains. */
static void who_trains_beside_its_workers_is_a_rank(void **state)
{
	struct vt_ranks ranks;

	(void)state;
	make_spawned(32 << 20);
	open_ranks(&ranks);
	assert_int_equal(ranks.run->nr, 3);
	assert_string_equal(strrchr(ranks.peak->file, '/'), "/a.db");
	assert_null(vt_ranks_runs_reason(&ranks.runs, &ranks.runs.files[0]));
	vt_ranks_release(&ranks);
}

/* It need not be the one that used most. */
static void who_used_more_than_one_child_is_a_rank(void **state)
{
	struct vt_ranks ranks;

	(void)state;
	make_spawned(6000);
	open_ranks(&ranks);
	assert_int_equal(ranks.run->nr, 3);
	vt_ranks_release(&ranks);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
}

static const char *reason_of(const struct vt_ranks *ranks, const char *file)
{
	for (uint32_t i = 0; i < ranks->runs.nr_files; i++)
		if (!strcmp(ranks->runs.files[i].file, file))
			return vt_ranks_runs_reason(&ranks->runs, &ranks->runs.files[i]);
	fail_msg("no %s", file);
	return NULL;
}

static void what_is_no_part_of_the_run_is_left_out(void **state)
{
	struct vt_ranks ranks;

	(void)state;
	make(&(struct process){ "a0", 0, 2, .job = "7", .bytes = 4096 });
	make(&(struct process){ "a1", 1, 2, .job = "7", .bytes = 4096 });
	/* Another job of the same size; the same job again; one of another size. */
	make(&(struct process){ "b0", 0, 2, .job = "8", .start_s = 50, .bytes = 4096 });
	make(&(struct process){ "b1", 1, 2, .job = "8", .start_s = 50, .bytes = 4096 });
	make(&(struct process){ "c0", 0, 2, .job = "8", .start_s = 90, .bytes = 4096 });
	make(&(struct process){ "d0", 0, 3, .job = "8", .start_s = 95, .bytes = 4096 });
	make(&(struct process){ "e", -1, -1, .start_s = 99, .bytes = 4096 });
	write_file("runs/foreign.db", "no database at all");
	write_file("runs/notes.txt", "is not looked at");
	open_ranks(&ranks);

	assert_int_equal(ranks.runs.nr_files, 8);
	assert_int_equal(ranks.runs.nr, 4);
	assert_ptr_equal(ranks.run, &ranks.runs.items[1]);
	assert_null(reason_of(&ranks, "runs/b1.db"));
	assert_string_equal(reason_of(&ranks, "runs/c0.db"),
			    "another run: the rank exists twice");
	assert_string_equal(reason_of(&ranks, "runs/e.db"), "no rank: not started by a launcher");
	assert_non_null(strstr(reason_of(&ranks, "runs/foreign.db"), "runs/foreign.db"));
	assert_null(strstr(reason_of(&ranks, "runs/foreign.db"), "killed"));
	vt_ranks_release(&ranks);
}

static void processes_without_ranks_are_numbered_by_name(void **state)
{
	struct vt_ranks ranks;

	(void)state;
	make(&(struct process){ "z", -1, -1, .bytes = 4096 });
	make(&(struct process){ "y", -1, -1, .start_s = 1, .bytes = 8192 });
	open_ranks(&ranks);
	assert_true(ranks.runs.is_numbered_here);
	assert_false(ranks.runs.is_unrelated);
	assert_int_equal(ranks.run->nr, 2);
	assert_int_equal(ranks.run->world_size, 0);
	assert_string_equal(ranks.peak->file, "runs/y.db");
	assert_int_equal(ranks.peak->number, 0);
	vt_ranks_release(&ranks);
}

/* Nobody died, and no rank is the highest: they are a list. */
static void runs_of_other_times_or_programs_are_no_ranks(void **state)
{
	static const char *const commands[][2] = {
		{ "[\"python\", \"train.py\"]", "[\"python\", \"train.py\"]" },
		{ "[\"python\", \"train.py\"]", "[\"python\", \"serve.py\"]" },
	};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct vt_ranks ranks;

		/* The first pair runs one after the other, the second at the same time. */
		make(&(struct process){ "a", -1, -1, .command = commands[i][0], .bytes = 4096 });
		make(&(struct process){ "b", -1, -1, .command = commands[i][1],
					.start_s = i ? 0 : 60, .ended = "exit 1",
					.bytes = 8192 });
		open_ranks(&ranks);
		assert_true(ranks.runs.is_unrelated);
		assert_int_equal(ranks.nr_died, 0);
		vt_ranks_release(&ranks);
		unlink("runs/a.db");
		unlink("runs/b.db");
	}
}

static void a_folder_without_recordings_is_said(void **state)
{
	struct vt_diag diag = { 0 };
	struct vt_ranks ranks;

	(void)state;
	mkdir("runs", 0700);
	assert_int_equal(vt_ranks_init(&ranks, "runs", &options, &diag), -1);
	assert_string_equal(diag.text, "runs: no recording in this folder");
	vt_ranks_release(&ranks);
	write_file("runs/x.db", "x");
	memset(&diag, 0, sizeof(diag));
	assert_int_equal(vt_ranks_init(&ranks, "runs", &options, &diag), -1);
	assert_non_null(strstr(diag.text, "none of 1 recordings can be read; runs/x.db"));
	assert_int_equal(diag.exit_code, VT_EXIT_UNREADABLE);
	vt_ranks_release(&ranks);
}

/* Ranks of a host whose steps end when those of the first host end, but for its clock. */
static void clocks_are_compared_by_steps(void **state)
{
	int64_t ends[] = { SECOND, 2 * SECOND, 3 * SECOND };
	struct vt_rank ranks[] = {
		{ .number = 0, .host = (char *)"a", .start_time_ns = 7,
		  .start_realtime_ns = 100 * SECOND, .step_ends = ends, .nr_step_ends = 3 },
		{ .number = 1, .host = (char *)"b", .start_time_ns = 9,
		  .start_realtime_ns = 160 * SECOND, .step_ends = ends, .nr_step_ends = 3 },
		{ .number = 2, .host = (char *)"b", .start_time_ns = 9 + SECOND,
		  .start_realtime_ns = 161 * SECOND },
		{ .number = 3, .host = (char *)"c", .start_time_ns = 5,
		  .start_realtime_ns = 101 * SECOND },
	};
	const struct vt_rank *all[] = { &ranks[0], &ranks[1], &ranks[2], &ranks[3] };
	struct vt_clocks clocks;

	(void)state;
	vt_clocks_init(&clocks, all, 4);
	assert_int_equal(clocks.nr, 3);
	assert_int_equal(clocks.hosts[1].nr_ranks, 2);
	assert_int_equal(clocks.hosts[1].ahead_ns, 60 * SECOND);
	assert_int_equal(clocks.hosts[1].spread_ns, 0);
	assert_true(vt_clocks_is_off(&clocks, &clocks.hosts[1]));
	assert_false(vt_clocks_is_off(&clocks, &clocks.hosts[0]));
	assert_int_equal(clocks.hosts[2].nr_steps, 0);
	assert_int_equal(vt_clocks_time(&clocks, &ranks[0], 5), 5);
	assert_int_equal(vt_clocks_time(&clocks, &ranks[2], 0), SECOND);
	vt_clocks_release(&clocks);

	/* Behind: the first rank's start by its own clock is no first. */
	ranks[1].start_realtime_ns = 40 * SECOND;
	vt_clocks_init(&clocks, all, 4);
	assert_int_equal(clocks.hosts[1].ahead_ns, -60 * SECOND);
	assert_int_equal(vt_clocks_time(&clocks, &ranks[0], 5), 5);
	vt_clocks_release(&clocks);

	/* Within two steps of each other is no disagreement; a clock that was set is. */
	ranks[1].start_realtime_ns = 101 * SECOND;
	ranks[2].start_realtime_ns = 90 * SECOND;
	vt_clocks_init(&clocks, all, 4);
	assert_false(vt_clocks_is_off(&clocks, &clocks.hosts[1]));
	assert_int_equal(clocks.hosts[1].spread_ns, 12 * SECOND);
	vt_clocks_release(&clocks);
}

static void figures_survive_the_way_between_processes(void **state)
{
	int64_t ends[] = { 3, 5 };
	struct vt_rank_owner owners[] = { { (char *)"weights", 1ull << 40 }, { (char *)"a/b", 7 } };
	struct vt_rank rank = { .number = 5, .device = 2, .growth_bytes = -9, .step_ends = ends,
				.nr_step_ends = 2, .owners = owners, .nr_owners = 2,
				.host = (char *)"h\"1", .ended = (char *)"exit 0" };
	struct vt_rank other;
	char *text = vt_rank_pack(&rank);

	(void)state;
	assert_int_equal(vt_rank_unpack(&other, text, strlen(text)), 0);
	assert_int_equal(other.number, 5);
	assert_int_equal(other.growth_bytes, -9);
	assert_string_equal(other.host, "h\"1");
	assert_null(other.job);
	assert_int_equal(other.owners[0].bytes, 1ull << 40);
	assert_string_equal(other.owners[1].owner, "a/b");
	assert_int_equal(other.step_ends[1], 5);
	vt_rank_release(&other);
	assert_int_equal(vt_rank_unpack(&other, text, strlen(text) / 2), -1);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, unit_enter, unit_leave)
		CASE(owners_are_compared_over_ranks),
		CASE(who_died_first_and_who_is_missing),
		CASE(who_started_the_others_is_no_rank),
		CASE(who_trains_beside_its_workers_is_a_rank),
		CASE(who_used_more_than_one_child_is_a_rank),
		CASE(what_is_no_part_of_the_run_is_left_out),
		CASE(processes_without_ranks_are_numbered_by_name),
		CASE(runs_of_other_times_or_programs_are_no_ranks),
		CASE(a_folder_without_recordings_is_said),
		CASE(clocks_are_compared_by_steps),
		CASE(figures_survive_the_way_between_processes),
#undef CASE
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
