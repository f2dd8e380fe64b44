/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/base/process.h"

static uint64_t start_ticks_of(pid_t pid)
{
	char path[64], text[1024], *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	at = strrchr(text, ')') + 2;
	for (int field = 3; field < 22; field++)
		at = strchr(at, ' ') + 1;
	return strtoull(at, NULL, 10);
}

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

/* In a process of its own.  0: as it should be, 1: not, 2: /proc cannot be taken away here. */
static int look_without_proc(void)
{
	struct vt_process process;
	pid_t pid;
	int rc;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/proc", "tmpfs", 0, NULL))
		return 2;
	pid = start_sleeper();
	vt_process_open(&process, (uint32_t)pid, 12345);
	rc = !vt_process_is_alive(&process);
	kill(pid, SIGKILL);
	while (vt_process_is_alive(&process))
		vt_process_wait(&process, 200000);
	vt_process_close(&process);
	waitpid(pid, NULL, 0);
	vt_process_open(&process, (uint32_t)pid, 12345);
	rc |= vt_process_is_alive(&process);
	vt_process_close(&process);
	return rc;
}

static void without_proc_the_living_are_not_dead(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0)
		_exit(look_without_proc());
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void its_death_is_seen_though_nobody_has_reaped_it(void **state)
{
	pid_t pid = start_sleeper();
	struct vt_process process;

	(void)state;
	vt_process_open(&process, (uint32_t)pid, start_ticks_of(pid));
	assert_true(vt_process_is_alive(&process));
	kill(pid, SIGKILL);
	/* Longer than the test may last: only the death can end it. */
	while (vt_process_is_alive(&process))
		vt_process_wait(&process, 200000);
	vt_process_close(&process);
	vt_process_open(&process, (uint32_t)pid, 0);
	assert_false(vt_process_is_alive(&process));
	vt_process_close(&process);
	waitpid(pid, NULL, 0);
	vt_process_open(&process, (uint32_t)pid, 0);
	assert_false(vt_process_is_alive(&process));
	vt_process_close(&process);
}

static void a_reused_process_id_is_not_taken_for_it(void **state)
{
	pid_t pid = start_sleeper();
	struct vt_process process;

	(void)state;
	vt_process_open(&process, (uint32_t)pid, start_ticks_of(pid) + 1);
	assert_false(vt_process_is_alive(&process));
	vt_process_close(&process);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void *stay(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* The main thread has ended, which makes the process look like a zombie; others go on. */
static void a_process_lives_as_long_as_any_thread(void **state)
{
	struct vt_process process;
	pthread_t thread;
	char path[64], text[512] = "";
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pthread_create(&thread, NULL, stay, NULL);
		pthread_exit(NULL);
	}
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (!strstr(text, ") Z ")) {
		FILE *file = fopen(path, "re");

		assert_non_null(file);
		text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
		fclose(file);
	}
	vt_process_open(&process, (uint32_t)pid, 0);
	assert_true(vt_process_is_alive(&process));
	kill(pid, SIGKILL);
	while (vt_process_is_alive(&process))
		vt_process_wait(&process, 200000);
	vt_process_close(&process);
	waitpid(pid, NULL, 0);
}

static void a_process_of_another_boot_or_namespace_is_elsewhere(void **state)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	char boot_id[64] = "";
	uint32_t boot, pids;
	struct stat st;

	(void)state;
	if (!file || !fgets(boot_id, sizeof(boot_id), file) || stat("/proc/self/ns/pid", &st))
		skip();
	fclose(file);
	boot = vt_journal_boot_hash(boot_id);
	pids = (uint32_t)st.st_ino;
	assert_false(vt_process_is_elsewhere(boot, pids));
	assert_true(vt_process_is_elsewhere(boot + 1, pids));
	assert_true(vt_process_is_elsewhere(boot, pids + 1));
	/* Unknown: taken for ours, as every journal was that does not say it. */
	assert_false(vt_process_is_elsewhere(0, 0));
	assert_true(vt_process_is_elsewhere(0, pids + 1));
	/* The hash is a number in a file format: FNV-1a of "a" (published test vector). */
	assert_int_equal(vt_journal_boot_hash("a\n"), 0xe40c292c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_proc_the_living_are_not_dead),
		cmocka_unit_test(its_death_is_seen_though_nobody_has_reaped_it),
		cmocka_unit_test(a_reused_process_id_is_not_taken_for_it),
		cmocka_unit_test(a_process_of_another_boot_or_namespace_is_elsewhere),
		cmocka_unit_test(a_process_lives_as_long_as_any_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
