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
#define PATIENCE_MS 30000

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
	memset(g.seen, 0, sizeof(g.seen));
	g.master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(g.master >= 0);
	assert_int_equal(grantpt(g.master) | unlockpt(g.master), 0);
	use_as_stderr(open(ptsname(g.master), O_RDWR | O_NOCTTY));
}

/* Until `ending` is the last that was seen; NULL: until nobody can write any more. */
static void read_until(const char *ending)
{
	struct pollfd ready = { .fd = g.master, .events = POLLIN };
	size_t len = strlen(g.seen);

	while (len + 1 < sizeof(g.seen) && poll(&ready, 1, PATIENCE_MS) == 1) {
		ssize_t got = read(g.master, g.seen + len, sizeof(g.seen) - 1 - len);

		if (got <= 0)
			return;
		len += (size_t)got;
		if (ending && len >= strlen(ending) &&
		    !strcmp(g.seen + len - strlen(ending), ending))
			return;
	}
	fail_msg("neither an end nor \"%s\" behind \"%s\"", ending ? ending : "", g.seen);
}

/* What was written, with the standard error as it was. */
static const char *close_and_read(void)
{
	fflush(stderr);
	dup2(g.kept, STDERR_FILENO);
	close(g.kept);
	read_until(NULL);
	close(g.master);
	return g.seen;
}

static void parts_are_shown_after_a_second_and_are_gone_at_the_end(void **state)
{
	struct vt_progress_parts parts;

	(void)state;
	open_terminal();
	vt_progress_parts_begin(&parts, "reading");
	read_until("vtrace: reading");
	vt_progress_parts_next(&parts, "judging");
	read_until("vtrace: judging");
	vt_progress_parts_end(&parts);
	assert_string_equal(close_and_read(),
			    "\r\033[Kvtrace: reading\r\033[Kvtrace: judging\r\033[K");
}

static void show(unsigned us)
{
	struct vt_progress_parts parts;

	vt_progress_parts_begin(&parts, "reading");
	vt_progress_parts_next(&parts, "judging");
	usleep(us);
	vt_progress_parts_end(&parts);
}

static void what_is_over_within_a_second_shows_nothing(void **state)
{
	(void)state;
	open_terminal();
	show(1000);
	assert_string_equal(close_and_read(), "");
}

static void a_file_gets_nothing(void **state)
{
	int ends[2];

	(void)state;
	memset(g.seen, 0, sizeof(g.seen));
	assert_int_equal(pipe(ends), 0);
	g.master = ends[0];
	use_as_stderr(ends[1]);
	show(LONGER_THAN_QUIET_US);
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
