/* SPDX-License-Identifier: MIT */
#include "preload/at_exit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/journal_format.h"
#include "common/shell_word.h"
#include "preload/config.h"
#include "preload/export.h"
#include "preload/guard.h"
#include "preload/journal.h"
#include "preload/output.h"
#include "preload/real.h"
#include "preload/session.h"
#include "preload/sys.h"
#include "preload/text.h"
#include "preload/zero_reads.h"

/* foreign_libc.h */
#pragma weak on_exit

#define POLL_NS 1000000u
#define ALIVE_POLLS 64u	/* between looks whether the importer lives, which cost more */
#define PEAK_WAIT_NS 1000000000ull /* a closing line may do without the peak */

static struct {
	uint64_t end_slots;	/* the head when the end began */
	unsigned int nr_zero_reads;	/* that were written */
	/* Not on a stack that may be small: said once. */
	char path[VT_OUTPUT_MAX + 16];
	char word[VT_SHELL_WORD_SIZE(VT_OUTPUT_MAX + 16)];
	char said[13 * VT_OUTPUT_MAX];	/* three paths, should all of them be quoted */
} g;

/* The next in search order: another preloaded library's if there is one, else libc's. */
static vt_real_exit_fn next_exit;

/* Threads that go on allocating would have it waited for for ever. */
static int is_imported(const struct vt_journal_header *header)
{
	return __atomic_load_n(&header->imported_slots, __ATOMIC_ACQUIRE) >= g.end_slots;
}

/* Adding it up takes the importer a moment, after everything was imported. */
static int has_peak(const struct vt_journal_header *header)
{
	return __atomic_load_n(&header->peak_slots, __ATOMIC_ACQUIRE) >= g.end_slots;
}

/*
 * Whoever has taken up the journal, else the collector that was started and has not come to it yet,
 * however long that takes on a machine with much else to do: the process that was started ends when
 * its child in the background has taken up the journal, or cannot.
 */
static int has_importer(const struct vt_journal_header *header)
{
	int is_coming = vt_sys_is_alive(vt_session_collector());
	uint32_t pid;

	/* Asked second: it was written, where need be to the file, before that process ended. */
	vt_journal_exchange();
	pid = __atomic_load_n(&header->importer_pid, __ATOMIC_ACQUIRE);
	return pid ? vt_sys_is_alive((int)pid) : is_coming;
}

static void wait_until(int (*is_done)(const struct vt_journal_header *),
		       const struct vt_journal_header *header, uint64_t give_up_ns)
{
	for (unsigned int poll = 0;; poll++) {
		vt_journal_exchange();
		if (is_done(header))
			return;
		if (poll % ALIVE_POLLS == 0 && !has_importer(header))
			return;
		if (vt_sys_now_ns(CLOCK_MONOTONIC) >= give_up_ns)
			return;
		vt_sys_sleep_ns(POLL_NS);
	}
}

static void wait_for_import(const struct vt_journal_header *header)
{
	uint64_t give_up_ns = header->exit_time_ns + vt_config()->exit_wait_s * 1000000000ull;
	uint64_t no_peak_ns;

	wait_until(is_imported, header, give_up_ns);
	no_peak_ns = vt_sys_now_ns(CLOCK_MONOTONIC) + PEAK_WAIT_NS;
	if (is_imported(header) && !vt_config()->quiet)
		wait_until(has_peak, header, no_peak_ns < give_up_ns ? no_peak_ns : give_up_ns);
}

/*
 * The path as the user will type it: relative where it lies below the current directory, in quotes
 * where a shell wants them.
 */
static void add_path(struct vt_text *text, const char *suffix)
{
	char directory[VT_OUTPUT_MAX];
	struct vt_text whole;
	const char *base = vt_session_base();
	size_t len = 0;

	if (vt_sys_getcwd(directory, sizeof(directory)) > 0)
		len = strlen(directory);
	if (len > 1 && strncmp(base, directory, len) == 0 && base[len] == '/')
		base += len + 1;
	vt_text_init(&whole, g.path, sizeof(g.path));
	vt_text_add(&whole, base);
	vt_text_add(&whole, suffix);
	vt_text_add(text, vt_shell_word_write(g.word, sizeof(g.word), g.path));
}

static void add_peak(struct vt_text *text, const struct vt_journal_header *header)
{
	uint64_t peak;

	if (!has_peak(header))
		return;
	peak = __atomic_load_n(&header->peak_bytes, __ATOMIC_RELAXED);
	if (!peak)
		return;
	vt_text_add(text, "peak ");
	vt_text_add_size(text, peak);
	vt_text_add(text, " on cuda:");
	vt_text_add_number(text, (uint64_t)header->peak_device);
	vt_text_add(text, "; ");
}

/*
 * vtrace: 1,204,311 events, 0 lost; peak 62.97 GiB on cuda:0; vtrace-python.4242.db
 * vtrace: next: vtrace report vtrace-python.4242.db | vtrace html vtrace-python.4242.db
 */
static void say(const struct vt_journal_header *header)
{
	const char *suffix = ".db";
	struct vt_text text;

	vt_text_init(&text, g.said, sizeof(g.said));
	vt_text_add(&text, "vtrace: ");
	vt_text_add_grouped(&text, vt_journal_nr_events());
	vt_text_add(&text, " events, ");
	vt_text_add_grouped(&text, __atomic_load_n(&header->lost_events, __ATOMIC_RELAXED));
	vt_text_add(&text, " lost; ");
	if (is_imported(header)) {
		add_peak(&text, header);
		add_path(&text, suffix);
	} else if (has_importer(header)) {
		add_path(&text, suffix);
		vt_text_add(&text, " is still being written");
	} else {
		/* Any later command imports the journal first. */
		suffix = ".journal";
		add_path(&text, suffix);
	}
	vt_text_add(&text, "\nvtrace: next: vtrace report ");
	add_path(&text, suffix);
	if (is_imported(header)) {
		vt_text_add(&text, " | vtrace html ");
		add_path(&text, suffix);
	}
	vt_text_add_char(&text, '\n');
	if (g.nr_zero_reads)
		vt_text_add(&text, "vtrace: the program failed; on the simulator device values are"
				   " zeros; the report lists the lines that read them\n");
	vt_text_say(&text);
}

static void store_status(struct vt_journal_header *header, int status, enum vt_journal_exit who)
{
	header->exit_status = (uint32_t)status;
	header->exit_time_ns = vt_sys_now_ns(CLOCK_MONOTONIC);
	__atomic_store_n(&header->has_exit_status, (uint32_t)who, __ATOMIC_RELEASE);
}

static void finish(int status, void *unused)
{
	struct vt_journal_header *header;
	uint32_t recording = VT_JOURNAL_RECORDING;

	(void)unused;
	if (!vt_session_is_open())
		return;
	header = vt_journal_header();
	if (status)
		g.nr_zero_reads = vt_zero_reads_write();
	g.end_slots = __atomic_load_n(&header->head_slots, __ATOMIC_RELAXED);
	store_status(header, status, VT_JOURNAL_EXIT_HANDLERS);
	/* A recording that had to stop stays so. */
	__atomic_compare_exchange_n(&header->state, &recording, VT_JOURNAL_EXITING, 0,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	wait_for_import(header);
	if (!vt_config()->quiet)
		say(header);
}

void vt_at_exit_register(void)
{
	if (on_exit)
		on_exit(finish, NULL);
	/* Here, since a signal handler may not look it up. */
	next_exit = vt_real_next_exit();
}

/*
 * Workers of Python's multiprocessing end this way, and only their parent would know how.  Nothing
 * is waited for.  Also called in signal handlers, and in a child of vfork, which has our memory and
 * is another process.  The next _exit is called, so that what it does for a sanitizer or another
 * preloaded library is not skipped; _Exit is libc's second name of the same function.
 */
VT_EXPORT void _exit(int status)
{
	if (vt_session_is_open()) {
		struct vt_journal_header *header = vt_journal_header();

		/* Exit handlers that run after ours may end so; the closing line was said. */
		if (header->pid == (uint32_t)vt_sys_process_id() && !header->has_exit_status) {
			if (status)
				vt_zero_reads_write();
			store_status(header, status, VT_JOURNAL_EXIT_CALL);
		}
	}
	if (next_exit)
		next_exit(status);
	_Exit(status);
}
