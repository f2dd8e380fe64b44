/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "tests/lib/database_builder.h"

#define DRIVER "libcuda.so.1!cuMemAlloc_v2 < libcudart.so.12!cudaMalloc < "

static int64_t ask(struct builder_db *b, const char *native, const char *python)
{
	return build_alloc(b, &(struct build_event){ .kind = VT_KIND_SEGMENT,
						     .size = 512,
						     .native = native,
						     .python = python });
}

static void open_run(struct vt_analysis *analysis)
{
	struct vt_diag diag = { 0 };

	if (vt_analysis_open(analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
}

static void assert_owner(struct vt_analysis *analysis, int64_t event, const char *owner)
{
	for (uint32_t i = 0; i < analysis->model.nr_allocations; i++)
		if (analysis->model.allocations[i].event == event) {
			struct vt_verdict verdict =
				vt_attribution_judge(&analysis->attribution, i);

			assert_string_equal(
				vt_attribution_owner(&analysis->attribution, verdict.owner), owner);
			assert_int_equal(verdict.provenance == VT_PROVENANCE_UNKNOWN,
					 !strcmp(owner, "unknown"));
			return;
		}
	fail_msg("no event %lld", (long long)event);
}

static void functions_of_the_executable(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	int64_t plain, wrapped, other, named, deep, hidden;

	(void)state;
	build_run(b, "executable", "/opt/solver/bin/solver");
	plain = ask(b, DRIVER "solver!make_grid(int) < solver!main < solver!_start", NULL);
	wrapped = ask(b, DRIVER "solver!take < solver!Mesh::upload() < solver!main", NULL);
	other = ask(b, DRIVER "solver!take < solver!load < solver!main", NULL);
	named = ask(b, DRIVER "solver!device_malloc < solver!cache < solver!main", NULL);
	deep = ask(b, DRIVER "libmath.so.2!solve < solver!step < solver!main", NULL);
	hidden = ask(b, DRIVER "solver!(anonymous namespace)::Sweep::run() < solver!main", NULL);
	build_close(b);
	open_run(&analysis);

	assert_owner(&analysis, plain, "user/make_grid");
	assert_owner(&analysis, wrapped, "user/Mesh::upload");
	assert_owner(&analysis, other, "user/load");
	assert_owner(&analysis, named, "user/cache");
	assert_owner(&analysis, deep, "user/step");
	assert_owner(&analysis, hidden, "user/Sweep::run");
	vt_analysis_close(&analysis);
}

static void libraries_where_nothing_of_the_program_is_seen(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	int64_t library, nobody, own;

	(void)state;
	build_run(b, "executable", "/usr/bin/python3.11");
	library = ask(b, DRIVER "libmath.so.2!solve < libffi.so.8!ffi_call < python3.11!main",
		      NULL);
	nobody = ask(b, "libcuda.so.1!cuMemAlloc_v2 < libc.so.6!start", NULL);
	own = ask(b, DRIVER "libc10_cuda.so!c10::cuda::raw_alloc < libmath.so.2!solve", NULL);
	build_close(b);
	open_run(&analysis);

	assert_owner(&analysis, library, "library/math");
	assert_owner(&analysis, nobody, "unknown");
	/* PyTorch's: other rules' matter. */
	assert_owner(&analysis, own, "unknown");
	vt_analysis_close(&analysis);
}

static void functions_of_python(void **state)
{
#define TO_DEVICE "/usr/lib/python3/dist-packages/numba/api.py:9 to_device"
	static const char native[] = DRIVER "libffi.so.8!ffi_call < python3.11!main";
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	int64_t own, top, package, wrapped;

	(void)state;
	build_run(b, "executable", "/usr/bin/python3.11");
	own = ask(b, native, TO_DEVICE " < work/fit.py:3 load");
	top = ask(b, native, TO_DEVICE " < work/fit.py:30 <module>");
	package = ask(b, native, TO_DEVICE);
	wrapped = ask(b, native, "work/fit.py:5 allocate < work/fit.py:9 scratch");
	build_close(b);
	open_run(&analysis);

	assert_owner(&analysis, own, "user/load");
	assert_owner(&analysis, top, "user/fit");
	assert_owner(&analysis, package, "library/numba");
	assert_owner(&analysis, wrapped, "user/scratch");
	vt_analysis_close(&analysis);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_enter, unit_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_of_the_executable),
		TEST(libraries_where_nothing_of_the_program_is_seen),
		TEST(functions_of_python),
	};

	return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
