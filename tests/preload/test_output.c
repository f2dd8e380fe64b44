/* SPDX-License-Identifier: MIT */
/* Names of outputs, texts and numbers for ids: the small tables of preload/. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/launchers.h"
#include "preload/config.h"
#include "preload/environment.h"
#include "preload/ids.h"
#include "preload/output.h"
#include "preload/text.h"

static const char *value_of(const char *variable)
{
	return getenv(variable);
}

/* "PID" in the expected name stands for the process id. */
static void check_name(const char *pattern, unsigned int attempt, const char *expected)
{
	const char *pid = strstr(expected, "PID");
	struct vt_output output;
	char text[512];

	if (pid)
		snprintf(text, sizeof(text), "%.*s%d%s", (int)(pid - expected), expected,
			 (int)getpid(), pid + 3);
	else
		snprintf(text, sizeof(text), "%s", expected);
	vt_environment_take();
	assert_int_equal(vt_output_name(&output, pattern, attempt), 0);
	assert_string_equal(output.base, text);
}

static void output_names(void **state)
{
	(void)state;
	assert_int_equal(chdir("/"), 0);
	setenv("VT_TEST_NAME", "a/b", 1);
	setenv("RANK", "3", 1);
	check_name("/x/run.db", 1, "/x/run");
	check_name("/x/run.db", 2, "/x/run-2");
	check_name("/x/run", 3, "/x/run-3");
	check_name("/x/%p", 1, "/x/PID");
	check_name("/x/run%n.db", 2, "/x/run2");
	check_name("/x/%%n.db", 2, "/x/%n-2");
	check_name("/x/r%r-%q{VT_TEST_NAME}.db", 1, "/x/r3-a_b");
	check_name("/x/%q{NOT_SET}y", 1, "/x/y");
	check_name("/x/%q{open", 1, "/x/{open");
	check_name("/x/%z%", 1, "/x/%z%");
	check_name("/x/", 1, "/x/vtrace-test_output.PID");
	check_name(VT_RECORDER_DEFAULT_OUTPUT, 2, "//vtrace-test_output.PID-2");
	check_name("/x/.db", 1, "/x/vtrace-test_output.PID");
	check_name("/x/%q{NOT_SET}.db", 2, "/x/vtrace-test_output.PID-2");
}

static void forget_launchers(void)
{
	static const char *const variables[] = {
		"RANK", "WORLD_SIZE", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
		"PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS",
		"SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE", "MASTER_ADDR", "MASTER_PORT",
		"TORCHELASTIC_RUN_ID",
	};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
}

static void each_of_several_processes_is_named_by_its_rank(void **state)
{
	(void)state;
	forget_launchers();
	setenv("RANK", "3", 1);
	setenv("WORLD_SIZE", "4", 1);
	check_name("/x/run.db", 1, "/x/run.rank3");
	check_name("/x/run.db", 2, "/x/run.rank3-2");
	check_name("/x/", 1, "/x/vtrace-test_output.PID.rank3");
	check_name("/x/run%n.db", 2, "/x/run2.rank3");
	/* Where the user has told them apart already. */
	check_name("/x/r%r.db", 1, "/x/r3");
	check_name("/x/r%q{RANK}.db", 1, "/x/r3");
	check_name("/x/50%%r.db", 1, "/x/50%r.rank3");
	/* One process is no rank of many, whatever the launcher. */
	setenv("WORLD_SIZE", "1", 1);
	check_name("/x/run.db", 1, "/x/run");
	unsetenv("WORLD_SIZE");
	check_name("/x/run.db", 1, "/x/run");
	forget_launchers();
}

/* What each launcher's processes find in their environment. */
static void launchers_tell_the_rank(void **state)
{
	struct vt_launcher launcher;
	char job[VT_LAUNCHERS_MAX_JOB];

	(void)state;
	forget_launchers();
	vt_launchers_find(&launcher, value_of);
	assert_null(launcher.name);
	assert_false(vt_launchers_is_one_of_many(&launcher));
	vt_launchers_job(job, value_of);
	assert_string_equal(job, "");

	/* A batch script of Slurm is one task, however many its job has. */
	setenv("SLURM_PROCID", "0", 1);
	setenv("SLURM_NTASKS", "8", 1);
	setenv("SLURM_STEP_NUM_TASKS", "1", 1);
	vt_launchers_find(&launcher, value_of);
	assert_string_equal(launcher.name, "srun");
	assert_false(vt_launchers_is_one_of_many(&launcher));

	setenv("SLURM_STEP_NUM_TASKS", "8", 1);
	setenv("SLURM_JOB_ID", "77", 1);
	setenv("SLURM_STEP_ID", "2", 1);
	vt_launchers_find(&launcher, value_of);
	assert_string_equal(launcher.world_size, "8");
	assert_true(vt_launchers_is_one_of_many(&launcher));
	vt_launchers_job(job, value_of);
	assert_string_equal(job, "77 2");

	setenv("OMPI_COMM_WORLD_RANK", "5", 1);
	setenv("OMPI_COMM_WORLD_SIZE", "16", 1);
	vt_launchers_find(&launcher, value_of);
	assert_string_equal(launcher.name, "mpirun");
	assert_string_equal(launcher.rank, "5");
	assert_string_equal(launcher.world_size, "16");
	assert_null(launcher.local_rank);

	/* A user's own word is no rank. */
	setenv("RANK", "gold", 1);
	vt_launchers_find(&launcher, value_of);
	assert_string_equal(launcher.rank, "5");
	setenv("RANK", "9", 1);
	vt_launchers_find(&launcher, value_of);
	assert_string_equal(launcher.name, "torchrun");
	assert_string_equal(launcher.rank, "9");
	forget_launchers();
}

static void too_long_a_name_is_refused(void **state)
{
	struct vt_output output;
	char pattern[VT_OUTPUT_MAX + 100];

	(void)state;
	memset(pattern, 'x', sizeof(pattern));
	pattern[0] = '/';
	pattern[sizeof(pattern) - 1] = '\0';
	vt_environment_take();
	assert_int_equal(vt_output_name(&output, pattern, 1), -ENAMETOOLONG);
}

static void check_size(uint64_t size_bytes, const char *expect)
{
	char buffer[64];
	struct vt_text text;

	vt_text_init(&text, buffer, sizeof(buffer));
	vt_text_add_size(&text, size_bytes);
	assert_string_equal(buffer, expect);
}

static void texts(void **state)
{
	char buffer[32];
	struct vt_text text;

	(void)state;
	check_size(0, "0 B");
	check_size(1023, "1023 B");
	check_size(1024, "1.00 KiB");
	check_size((1ull << 20) - 1, "1.00 MiB");
	check_size((1ull << 30) - (1 << 10), "1.00 GiB");
	check_size((1ull << 30) - (6 << 10), "1023.99 MiB");
	check_size(8519680, "8.12 MiB"); /* 8.125; as printf, halves to the even digit */
	check_size(8781824, "8.38 MiB");
	check_size(19083674, "18.20 MiB");
	check_size(67613522985ull, "62.97 GiB");
	check_size(UINT64_MAX, "16777216.00 TiB");
	vt_text_init(&text, buffer, sizeof(buffer));
	vt_text_add_grouped(&text, 1204311);
	vt_text_add_char(&text, ' ');
	vt_text_add_grouped(&text, 999);
	vt_text_add_char(&text, ' ');
	vt_text_add_grouped(&text, 1000);
	assert_string_equal(buffer, "1,204,311 999 1,000");
	assert_false(text.is_cut);
	vt_text_add(&text, "more than there is room for");
	assert_true(text.is_cut);
	assert_int_equal(strlen(buffer), sizeof(buffer) - 1);
}

static void options_come_from_the_environment(void **state)
{
	(void)state;
	assert_int_equal(vt_config()->exit_wait_s, 10);
	setenv("VTRACE_EXIT_WAIT", "3", 1);
	setenv("VTRACE_QUIET", "yes", 1);
	setenv("VTRACE_STACKS", "100000", 1);
	setenv("VTRACE_OUTPUT", "", 1);
	vt_environment_take();
	vt_config_read();
	assert_int_equal(vt_config()->exit_wait_s, 3);
	assert_int_equal(vt_config()->quiet, 0);
	assert_int_equal(vt_config()->stacks, 512);
	assert_string_equal(vt_config()->output, VT_RECORDER_DEFAULT_OUTPUT);
}

static void ids_tell_contents_apart(void **state)
{
	struct vt_ids ids = { 0 };
	struct vt_key key;

	(void)state;
	assert_int_equal(vt_ids_reset(&ids, 12), 0);
	for (uint32_t n = 1; n <= 2000; n++) {
		key = vt_ids_key(&n, sizeof(n));
		assert_int_equal(vt_ids_find(&ids, &key), 0);
		assert_int_equal(vt_ids_next(&ids), n);
		vt_ids_publish(&ids, &key, n);
	}
	for (uint32_t n = 1; n <= 2000; n++) {
		key = vt_ids_key(&n, sizeof(n));
		assert_int_equal(vt_ids_find(&ids, &key), n);
	}
	assert_int_equal(vt_ids_reset(&ids, 12), 0);
	assert_int_equal(vt_ids_find(&ids, &key), 0);
}

/* More than the places that come first have room for. */
static void many_contents_are_told_apart(void **state)
{
	struct vt_ids ids = { 0 };
	struct vt_key key;

	(void)state;
	assert_int_equal(vt_ids_reset(&ids, 16), 0);
	for (uint32_t n = 1; n <= 20000; n++) {
		key = vt_ids_key(&n, sizeof(n));
		assert_int_equal(vt_ids_find(&ids, &key), 0);
		vt_ids_publish(&ids, &key, n);
	}
	for (uint32_t n = 1; n <= 20000; n++) {
		key = vt_ids_key(&n, sizeof(n));
		assert_int_equal(vt_ids_find(&ids, &key), n);
	}
}

static void full_id_table_still_answers(void **state)
{
	struct vt_ids ids = { 0 };
	struct vt_key key;
	uint32_t found = 0;

	(void)state;
	assert_int_equal(vt_ids_reset(&ids, 4), 0);
	for (uint32_t n = 1; n <= 100; n++) {
		key = vt_ids_key(&n, sizeof(n));
		vt_ids_publish(&ids, &key, n);
		found += vt_ids_find(&ids, &key) != 0;
	}
	assert_int_equal(found, 8);
}

static void keys_depend_on_every_byte(void **state)
{
	unsigned char bytes[40] = { 0 };
	struct vt_key first = vt_ids_key(bytes, sizeof(bytes));

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		struct vt_key key;

		bytes[i] = 1;
		key = vt_ids_key(bytes, sizeof(bytes));
		bytes[i] = 0;
		assert_true(key.low != first.low && key.high != first.high);
	}
	assert_true(vt_ids_key(bytes, 39).low != first.low);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_names),
		cmocka_unit_test(each_of_several_processes_is_named_by_its_rank),
		cmocka_unit_test(launchers_tell_the_rank),
		cmocka_unit_test(too_long_a_name_is_refused),
		cmocka_unit_test(texts),
		cmocka_unit_test(options_come_from_the_environment),
		cmocka_unit_test(ids_tell_contents_apart),
		cmocka_unit_test(many_contents_are_told_apart),
		cmocka_unit_test(full_id_table_still_answers),
		cmocka_unit_test(keys_depend_on_every_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
