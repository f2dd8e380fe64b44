/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/base/util.h"
#include "analyzer/commands/launch.h"

static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1 };

static void ours(int number)
{
	(void)number;
}

/* What is done behind the program's end must be possible to interrupt. */
static void signals_are_as_before_once_the_program_ended(void **state)
{
	char *argv[] = { "true", NULL };
	struct sigaction now, action = { .sa_handler = ours };
	int status = -1;
	pid_t pid;

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	assert_int_equal(vt_launch_run("/bin/true", argv, &pid, &status, NULL), 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	for (size_t i = 0; i < VT_ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &now);
		assert_false(now.sa_flags & SA_SIGINFO);
		assert_ptr_equal(now.sa_handler, signals[i] == SIGUSR1 ? ours : SIG_DFL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_are_as_before_once_the_program_ended),
	};

	return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
