/* SPDX-License-Identifier: MIT */
#include "analyzer/import/collect.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/database/db.h"
#include "analyzer/import/device_samples.h"
#include "analyzer/import/import.h"
#include "analyzer/import/journal_file.h"
#include "analyzer/base/clock.h"
#include "analyzer/base/process.h"
#include "analyzer/import/resolve.h"
#include "analyzer/base/util.h"

/*
 * Records per transaction: large enough that its cost does not matter, small enough for a live
 * report.
 */
#define BATCH_RECORDS 65536

/* Pauses between looks at a living journal. */
#define SHORTEST_PAUSE_MS 1
#define USUAL_PAUSE_MS    10
#define LONGEST_PAUSE_MS  50
#define FEW_SLOTS	  4096 /* a tenth of a million events a second */

/*
 * How often a reader may keep the finished database from becoming one file, at one try per long
 * pause.
 */
#define SINGLE_FILE_TRIES 100

struct collect {
	const struct vt_collect_options *options;
	struct vt_journal_file journal;
	struct vt_process process;
	struct vt_import *import;
	struct vt_db *db;
	struct vt_device_samples *samples; /* NULL: the program cannot be looked at */
	unsigned int pause_ms;
	int has_peak; /* published, of a program that ends */
	int is_dead; /* seen before the journal was read: what we then read is all */
};

static void publish(struct collect *c)
{
	struct vt_import_progress progress;

	vt_import_get_progress(c->import, &progress);
	vt_journal_file_publish(&c->journal, &progress);
	vt_journal_file_recycle(&c->journal, progress.imported_slots);
}

/* Its exit handlers run: it gives its memory back, and waits for us. */
static int is_exiting(struct collect *c)
{
	const struct vt_journal_header *header = vt_journal_file_header(&c->journal);

	return __atomic_load_n(&header->state, __ATOMIC_ACQUIRE) == VT_JOURNAL_EXITING;
}

/* When everything is imported, and once: threads of a program that ends may go on allocating. */
static void publish_peak(struct collect *c, uint64_t nr_slots)
{
	struct vt_import_progress progress;
	uint64_t bytes = 0;
	int32_t device = 0;

	vt_import_get_progress(c->import, &progress);
	if (c->has_peak || progress.imported_slots < nr_slots)
		return;
	c->has_peak = 1;
	if (c->options->highest_use)
		c->options->highest_use(c->db, &bytes, &device);
	vt_journal_file_publish_peak(&c->journal, progress.imported_slots, bytes, device);
}

/* Imports one batch.  Returns the slots read, 0 at the end of what is there, -1 on failure. */
static int64_t take_batch(struct collect *c, struct vt_diag *diag)
{
	/* First: what is read then has all that was there when the exit handlers began. */
	int is_ending = is_exiting(c);
	uint64_t nr_slots;
	const void *slots = vt_journal_file_slots(&c->journal, &nr_slots);
	const struct vt_journal_header *header = vt_journal_file_header(&c->journal);
	int64_t taken;

	if (!slots) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", c->journal.path, strerror(errno));
		return -1;
	}
	taken = vt_import_batch(c->import, header, slots, nr_slots, c->is_dead, BATCH_RECORDS,
				diag);
	if (taken > 0)
		publish(c);
	if (is_ending && taken >= 0)
		publish_peak(c, nr_slots);
	if (c->options->progress) {
		struct vt_import_progress progress;

		vt_import_get_progress(c->import, &progress);
		c->options->progress(c->options->context, progress.imported_slots, nr_slots);
	}
	return taken;
}

/*
 * Back-off while the program lives.  A small batch does not shorten the pause: a transaction per
 * handful of events would cost the machine more than it gives, most of all where it runs for weeks.
 * A program in its exit handlers waits for us.
 */
static void pause_between(struct collect *c, int64_t taken)
{
	if (is_exiting(c))
		c->pause_ms = SHORTEST_PAUSE_MS;
	else if (taken > 0)
		c->pause_ms = taken < FEW_SLOTS && vt_import_is_folding(c->import) ?
				      LONGEST_PAUSE_MS :
				      USUAL_PAUSE_MS;
	else if (c->pause_ms < LONGEST_PAUSE_MS)
		c->pause_ms =
			c->pause_ms * 2 < LONGEST_PAUSE_MS ? c->pause_ms * 2 : LONGEST_PAUSE_MS;
	vt_process_wait(&c->process, c->pause_ms);
}

/* Said by the user where it cannot be known. */
static int is_writer_dead(struct collect *c)
{
	return c->journal.is_elsewhere ? c->options->is_writer_dead
				       : !vt_process_is_alive(&c->process);
}

static enum vt_collect_result say_elsewhere(const struct collect *c, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE,
		    "%s: from another machine, container or boot; its program may still run "
		    "(if it is gone: vtrace collect --foreground --dead %s)",
		    c->journal.path, c->journal.path);
	return VT_COLLECT_ELSEWHERE;
}

static enum vt_collect_result follow(struct collect *c, struct vt_diag *diag)
{
	int64_t taken;

	for (;;) {
		c->is_dead = is_writer_dead(c);
		if (c->options->is_following && !c->is_dead && !vt_import_has_room(c->import)) {
			pause_between(c, 0);
			continue;
		}
		taken = take_batch(c, diag);
		if (taken < 0)
			return VT_COLLECT_FAILED;
		if (!c->is_dead && !is_exiting(c))
			vt_device_samples_take(c->samples);
		if (taken > BATCH_RECORDS / 2)
			continue;
		if (c->is_dead && !taken)
			return VT_COLLECT_DONE;
		if (!c->is_dead && !taken && c->journal.is_elsewhere)
			return say_elsewhere(c, diag);
		if (!c->is_dead && !taken && !c->options->is_following)
			return VT_COLLECT_ALIVE;
		if (!c->is_dead && !c->journal.is_elsewhere)
			pause_between(c, taken);
	}
}

/* A reader of the live database can hold it for a moment; a WAL file that stays is complete too. */
static void make_single_file(struct collect *c)
{
	struct timespec pause = { 0, LONGEST_PAUSE_MS * 1000000L };

	for (int i = 0; i < SINGLE_FILE_TRIES && vt_db_make_single_file(c->db); i++)
		nanosleep(&pause, NULL);
}

static void close_database(struct collect *c)
{
	vt_device_samples_close(c->samples);
	c->samples = NULL;
	vt_import_close(c->import);
	c->import = NULL;
	vt_db_close(c->db);
	c->db = NULL;
}

static int finish(struct collect *c, struct vt_diag *diag)
{
	if (vt_import_finish(c->import, vt_journal_file_header(&c->journal),
			     c->journal.missing_slots, diag) ||
	    vt_resolve_frames(c->db, diag))
		return -1;
	make_single_file(c);
	close_database(c);
	/* The rest may still turn up, or is all that somebody else has. */
	if (c->journal.missing_slots)
		return 0;
	/* Last: from here on the database is all there is, and it is complete. */
	if (vt_journal_file_delete(&c->journal)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", c->journal.path, strerror(errno));
		return -1;
	}
	return 0;
}

static int open_database(struct collect *c, const char *path, struct vt_diag *diag)
{
	enum vt_db_mode mode = access(path, F_OK) ? VT_DB_CREATE : VT_DB_WRITE;

	if (vt_db_open(&c->db, path, mode, diag))
		return -1;
	return vt_import_open(&c->import, c->db, vt_journal_file_header(&c->journal), diag);
}

/* From opening the database to the program's end, or to what stops us. */
static enum vt_collect_result attempt(struct collect *c, const char *database_path,
				      struct vt_diag *diag)
{
	enum vt_collect_result result = VT_COLLECT_FAILED;

	if (!open_database(c, database_path, diag)) {
		publish(c);
		if (c->options->is_following && !c->journal.is_elsewhere)
			c->samples = vt_device_samples_open(c->db, c->process.pid);
		result = follow(c, diag);
	}
	if (result == VT_COLLECT_DONE && finish(c, diag))
		result = VT_COLLECT_FAILED;
	close_database(c);
	return result;
}

/*
 * Somebody may hold the database's lock for longer than SQLite waits.  A living program's journal
 * would only grow without us: another attempt continues after the last batch that was committed.
 */
static enum vt_collect_result attempt_while_alive(struct collect *c, const char *database_path,
						  struct vt_diag *diag)
{
	enum vt_collect_result result;
	struct vt_diag said;

	for (;;) {
		memset(&said, 0, sizeof(said));
		result = attempt(c, database_path, &said);
		if (result != VT_COLLECT_FAILED || !said.is_busy || !c->options->is_following ||
		    c->journal.is_elsewhere || is_writer_dead(c))
			break;
		vt_process_wait(&c->process, LONGEST_PAUSE_MS);
	}
	if (said.exit_code)
		vt_diag_set(diag, said.exit_code, "%s", said.text);
	return result;
}

/* Each try waits a moment for the lock. */
static enum vt_journal_open open_journal(struct collect *c, const char *path, struct vt_diag *diag)
{
	uint64_t give_up_ns = vt_clock_ns() + c->options->patience_ns;
	enum vt_journal_open result;

	do
		result = vt_journal_file_open(&c->journal, path, diag);
	while (result == VT_JOURNAL_BUSY && vt_clock_ns() < give_up_ns);
	return result;
}

enum vt_collect_result vt_collect_run(const char *journal_path, const char *database_path,
				      const struct vt_collect_options *options,
				      struct vt_diag *diag)
{
	struct collect c = { .options = options, .pause_ms = SHORTEST_PAUSE_MS, .process.fd = -1 };
	const struct vt_journal_header *header;
	enum vt_collect_result result;

	switch (open_journal(&c, journal_path, diag)) {
	case VT_JOURNAL_OPENED:
		break;
	case VT_JOURNAL_FAILED:
		return VT_COLLECT_FAILED;
	case VT_JOURNAL_BUSY:
		return VT_COLLECT_BUSY;
	case VT_JOURNAL_GONE:
		if (!access(database_path, F_OK))
			return VT_COLLECT_DONE;
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", journal_path, strerror(ENOENT));
		return VT_COLLECT_FAILED;
	}
	if (options->taken_up)
		options->taken_up();
	header = vt_journal_file_header(&c.journal);
	vt_process_open(&c.process, header->pid, header->process_start_ticks);
	result = attempt_while_alive(&c, database_path, diag);
	vt_process_close(&c.process);
	vt_journal_file_close(&c.journal);
	return result;
}
