/* SPDX-License-Identifier: MIT */
/* How long the exit waits for the importer, with a journal and processes of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "preload/at_exit.h"
#include "preload/config.h"
#include "preload/journal.h"
#include "preload/real.h"
#include "preload/session.h"
#include "preload/sys.h"
#include "preload/text.h"
#include "preload/zero_reads.h"

#define COLLECTOR 100	/* the process that was started */
#define IMPORTER 200	/* its child in the background */

static struct {
	void (*at_exit)(int status, void *argument);
	struct vt_journal_header header, file; /* what this process sees, and what is written */
	uint64_t now_ns;
	uint64_t imported_at_ns, added_up_at_ns;
	char said[512];
	int takes_up;	/* whether the collector does before it ends */
} t;

int on_exit(void (*function)(int, void *), void *argument)
{
	(void)argument;
	t.at_exit = function;
	return 0;
}

unsigned int vt_zero_reads_write(void)
{
	return 0;
}

int vt_session_is_open(void)
{
	return 1;
}

vt_real_exit_fn vt_real_next_exit(void)
{
	return NULL;
}

const char *vt_session_base(void)
{
	return "/tmp/run";
}

int vt_session_collector(void)
{
	return COLLECTOR;
}

const struct vt_config *vt_config(void)
{
	static const struct vt_config config = { .exit_wait_s = 10 };

	return &config;
}

struct vt_journal_header *vt_journal_header(void)
{
	return &t.header;
}

uint64_t vt_journal_nr_events(void)
{
	return 0;
}

/* Of a file that is not mapped: nothing is seen before it is read. */
void vt_journal_exchange(void)
{
	t.header.importer_pid = t.file.importer_pid;
	if (t.now_ns >= t.imported_at_ns)
		t.header.imported_slots = t.header.head_slots;
	if (t.now_ns >= t.added_up_at_ns) {
		t.header.peak_slots = t.header.head_slots;
		t.header.peak_bytes = 3ull << 30;
	}
}

/* The collector ends at the very moment at which it is asked for. */
int __wrap_vt_sys_is_alive(int pid)
{
	if (pid != COLLECTOR)
		return pid == IMPORTER;
	if (t.takes_up)
		t.file.importer_pid = IMPORTER;
	return 0;
}

uint64_t __wrap_vt_sys_now_ns(int clock)
{
	(void)clock;
	return t.now_ns;
}

void __wrap_vt_sys_sleep_ns(uint64_t ns)
{
	t.now_ns += ns;
}

void __wrap_vt_text_say(const struct vt_text *text)
{
	snprintf(t.said, sizeof(t.said), "%.*s", (int)text->len, text->bytes);
}

static void exit_with(int takes_up, uint64_t added_up_at_ns)
{
	t.header = (struct vt_journal_header){ .head_slots = 7 };
	t.file = (struct vt_journal_header){ 0 };
	t.now_ns = 1;
	t.imported_at_ns = 1000000000;
	t.added_up_at_ns = added_up_at_ns;
	t.takes_up = takes_up;
	vt_at_exit_register();
	t.at_exit(0, NULL);
}

static void who_took_up_what_is_not_mapped_is_waited_for(void **state)
{
	(void)state;
	exit_with(1, 0);
	assert_int_equal(t.header.imported_slots, 7);
	assert_in_range(t.now_ns, 1000000000, 1002000000);
}

static void the_peak_is_waited_for(void **state)
{
	(void)state;
	exit_with(1, 1900000000);
	assert_non_null(strstr(t.said, " 0 lost; peak 3.00 GiB on cuda:0; "));
	assert_in_range(t.now_ns, 1900000000, 1902000000);
}

static void a_peak_that_takes_long_is_not_said(void **state)
{
	(void)state;
	exit_with(1, 9000000000);
	assert_non_null(strstr(t.said, " 0 lost; /tmp/run.db\n"));
	assert_in_range(t.now_ns, 2000000000, 2002000000);
}

static void who_ends_without_taking_up_is_not_waited_for(void **state)
{
	(void)state;
	exit_with(0, 0);
	assert_int_equal(t.now_ns, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_took_up_what_is_not_mapped_is_waited_for),
		cmocka_unit_test(the_peak_is_waited_for),
		cmocka_unit_test(a_peak_that_takes_long_is_not_said),
		cmocka_unit_test(who_ends_without_taking_up_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
