/* SPDX-License-Identifier: MIT */
/* What a terminal shows of something that lasts, by a pseudo terminal as standard error. */
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/progress.h"

#define LONGER_THAN_QUIET_US 1300000

static struct {
	int master;
	int kept; /* the standard error of the test */
	char seen[512];
} g;

static void use_as_stderr(int fd)
{
	assert_true(fd >= 0);
	fflush(stderr);
	g.kept = dup(STDERR_FILENO);
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
}

static void open_terminal(void)
{
	g.master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(g.master >= 0);
	assert_int_equal(grantpt(g.master) | unlockpt(g.master), 0);
	use_as_stderr(open(ptsname(g.master), O_RDWR | O_NOCTTY));
}

/* What was written, with the standard error as it was. */
static const char *close_and_read(void)
{
	struct pollfd ready = { .fd = g.master, .events = POLLIN };
	ssize_t len = 0;

	memset(g.seen, 0, sizeof(g.seen));
	fflush(stderr);
	if (poll(&ready, 1, 100) == 1)
		len = read(g.master, g.seen, sizeof(g.seen) - 1);
	dup2(g.kept, STDERR_FILENO);
	close(g.kept);
	close(g.master);
	assert_true(len >= 0);
	return g.seen;
}

static void show(unsigned first_us, unsigned second_us)
{
	struct vt_progress_parts parts;

	vt_progress_parts_begin(&parts, "reading");
	usleep(first_us);
	vt_progress_parts_next(&parts, "judging");
	usleep(second_us);
	vt_progress_parts_end(&parts);
}

static void parts_are_shown_after_a_second_and_are_gone_at_the_end(void **state)
{
	(void)state;
	open_terminal();
	show(LONGER_THAN_QUIET_US, 300000);
	assert_string_equal(close_and_read(),
			    "\r\033[Kvtrace: reading\r\033[Kvtrace: judging\r\033[K");
}

static void what_is_over_within_a_second_shows_nothing(void **state)
{
	(void)state;
	open_terminal();
	show(1000, 1000);
	assert_string_equal(close_and_read(), "");
}

static void a_file_gets_nothing(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	g.master = ends[0];
	use_as_stderr(ends[1]);
	show(LONGER_THAN_QUIET_US, 0);
	assert_string_equal(close_and_read(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_shown_after_a_second_and_are_gone_at_the_end),
		cmocka_unit_test(what_is_over_within_a_second_shows_nothing),
		cmocka_unit_test(a_file_gets_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
