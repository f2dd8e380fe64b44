/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/import/fold.h"
#include "analyzer/import/import_allocations.h"
#include "analyzer/import/import_definitions.h"
#include "analyzer/import/import_generated.h"
#include "analyzer/import/import_names.h"
#include "analyzer/import/import_operators.h"
#include "analyzer/import/import_rows.h"
#include "analyzer/import/import_stacks.h"
#include "analyzer/import/journal_reader.h"
#include "analyzer/import/peak.h"
#include "analyzer/import/periods.h"
#include "analyzer/import/run_keys.h"
#include "analyzer/base/process.h"
#include "analyzer/base/util.h"

struct vt_import {
	struct vt_db *db;
	struct vt_journal_reader reader;
	struct vt_import_rows rows;
	struct vt_import_allocations allocations;
	struct vt_import_stacks stacks;
	struct vt_import_definitions definitions;
	struct vt_import_generated generated;
	struct vt_import_names names;
	struct vt_import_operators operators;
	struct vt_peak_totals peak;
	struct vt_periods periods;
	struct vt_fold fold;
	int is_folding; /* only a part of the past is kept */
	struct vt_stmt *set;
	uint64_t nr_events;
	uint64_t start_time_ns;
	uint64_t last_time_ns; /* of the latest event */
	int is_elsewhere;      /* the program's files are not those of this machine */
	int has_misread;       /* a get_int failed */
};

static int fail(struct vt_import *im, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s; the journal is kept", vt_db_path(im->db),
		    vt_db_error(im->db));
	if (diag)
		diag->is_busy = vt_db_is_busy(im->db);
	vt_db_rollback(im->db);
	return -1;
}

static int set_int(struct vt_import *im, enum vt_run_key key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	vt_stmt_bind_text(im->set, 1, vt_run_key(key));
	vt_stmt_bind_text(im->set, 2, text);
	return vt_stmt_step(im->set);
}

/* 0 where the key is missing, and where it cannot be read: see has_misread. */
static uint64_t get_int(struct vt_import *im, enum vt_run_key key)
{
	char *value;
	uint64_t number;

	if (vt_db_run_find(im->db, vt_run_key(key), &value))
		im->has_misread = 1;
	number = value ? strtoull(value, NULL, 10) : 0;
	free(value);
	return number;
}

/* The first transaction: whose run it is. */
static int begin_run(struct vt_import *im, const struct vt_journal_header *header)
{
	int rc = vt_db_begin(im->db);

	rc |= set_int(im, VT_RUN_PID, header->pid);
	rc |= set_int(im, VT_RUN_START_TIME, header->start_time_ns);
	rc |= set_int(im, VT_RUN_START_REALTIME, header->start_realtime_ns);
	rc |= vt_db_run_set(im->db, vt_run_key(VT_RUN_ENDED), "running");
	/*
	 * The database that the earlier chunks went to is not there any more: what was punched out
	 * of the journal reads as zeros, which a living program's journal would make us wait for.
	 */
	if (header->imported_slots) {
		vt_journal_reader_init(&im->reader,
				       header->imported_slots / VT_CHUNK_SLOTS * VT_CHUNK_SLOTS);
		im->reader.torn_records = im->reader.slot != 0;
	}
	rc |= set_int(im, VT_RUN_IMPORTED_SLOTS, im->reader.slot);
	return rc || vt_db_commit(im->db) ? -1 : 0;
}

static int resume_run(struct vt_import *im)
{
	vt_journal_reader_init(&im->reader, get_int(im, VT_RUN_IMPORTED_SLOTS));
	im->reader.torn_records = get_int(im, VT_RUN_TORN_RECORDS);
	im->nr_events = get_int(im, VT_RUN_EVENTS);
	im->allocations.nr_reused = get_int(im, VT_RUN_REUSED_ADDRESSES);
	im->allocations.nr_unknown_frees = get_int(im, VT_RUN_UNKNOWN_FREES);
	im->last_time_ns = im->start_time_ns + get_int(im, VT_RUN_DURATION);
	if (im->has_misread || vt_peak_load(&im->peak, im->db) ||
	    vt_import_stacks_resume(&im->stacks))
		return -1;
	return vt_import_allocations_resume(&im->allocations);
}

/*
 * What the recording was begun with holds to its end, whoever takes it up.  What is no such amount
 * is as if not set, as with the recorder's own variables.
 */
static int start_folding(struct vt_import *im)
{
	const char *wanted = getenv("VTRACE_KEEP");
	char *known = NULL;
	struct vt_keep keep;
	int rc = 0;

	if (!im->nr_events && wanted && !vt_keep_parse(wanted, &keep))
		rc = vt_db_run_set(im->db, vt_run_key(VT_RUN_KEEP), wanted);
	if (!rc)
		rc = vt_db_run_find(im->db, vt_run_key(VT_RUN_KEEP), &known);
	if (!rc && known && !vt_keep_parse(known, &keep)) {
		im->is_folding = 1;
		rc = vt_periods_load(&im->periods) ||
		     vt_fold_init(&im->fold, im->db, &keep, &im->periods);
	}
	free(known);
	return rc;
}

static int is_other_run(struct vt_import *im, const struct vt_journal_header *header)
{
	return get_int(im, VT_RUN_PID) != header->pid ||
	       get_int(im, VT_RUN_START_TIME) != header->start_time_ns ||
	       get_int(im, VT_RUN_START_REALTIME) != header->start_realtime_ns;
}

/* How far the import is said to be, by the database or, where that is new, by the journal. */
static int is_ahead(struct vt_import *im, const struct vt_journal_header *header, int is_new,
		    struct vt_diag *diag)
{
	uint64_t head = __atomic_load_n(&header->head_slots, __ATOMIC_ACQUIRE);
	uint64_t done = is_new ? header->imported_slots : get_int(im, VT_RUN_IMPORTED_SLOTS);

	if (done <= head)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE,
		    "%s: damaged: %" PRIu64 " slots of its journal would be imported, which has "
		    "%" PRIu64 "; the journal is kept",
		    vt_db_path(im->db), done, head);
	return 1;
}

int vt_import_open(struct vt_import **out, struct vt_db *db, const struct vt_journal_header *header,
		   struct vt_diag *diag)
{
	struct vt_import *im = vt_xcalloc(1, sizeof(*im));
	char *pid;
	int rc = vt_db_run_find(db, vt_run_key(VT_RUN_PID), &pid);

	im->db = db;
	im->start_time_ns = im->last_time_ns = header->start_time_ns;
	im->is_elsewhere = vt_process_is_elsewhere(header->boot_hash, header->pid_namespace);
	im->set = vt_db_prepare(db, "INSERT OR REPLACE INTO run VALUES (?,?)");
	vt_journal_reader_init(&im->reader, 0);
	rc |= vt_import_rows_init(&im->rows, db);
	vt_import_allocations_init(&im->allocations, &im->rows, &im->peak);
	vt_periods_init(&im->periods, db, &im->peak, header->start_time_ns);
	vt_import_stacks_init(&im->stacks, db);
	vt_import_definitions_init(&im->definitions, db);
	vt_import_generated_init(&im->generated, db);
	vt_import_names_init(&im->names, db);
	vt_import_operators_init(&im->operators, db, &im->allocations);
	/* What cannot be read now is no new database. */
	if (rc) {
		fail(im, diag);
		goto out;
	}
	if (pid && is_other_run(im, header) && !im->has_misread) {
		vt_diag_set(
			diag, VT_EXIT_UNREADABLE,
			"%s: contains another run (pid %s); move it away to import this journal",
			vt_db_path(db), pid);
		rc = -1;
		goto out;
	}
	if (is_ahead(im, header, !pid, diag)) {
		rc = -1;
		goto out;
	}
	rc = (pid ? resume_run(im) : begin_run(im, header)) || start_folding(im) ? -1 : 0;
	if (rc)
		fail(im, diag);
out:
	free(pid);
	if (rc)
		vt_import_close(im);
	else
		*out = im;
	return rc;
}

void vt_import_close(struct vt_import *im)
{
	if (!im)
		return;
	vt_stmt_free(im->set);
	vt_import_allocations_release(&im->allocations);
	vt_import_rows_release(&im->rows);
	vt_periods_release(&im->periods);
	vt_import_stacks_release(&im->stacks);
	vt_import_definitions_release(&im->definitions);
	vt_import_generated_release(&im->generated);
	vt_import_names_release(&im->names);
	vt_import_operators_release(&im->operators);
	vt_peak_release(&im->peak);
	free(im);
}

static void note_time(struct vt_import *im, uint64_t time_ns)
{
	if (time_ns > im->last_time_ns)
		im->last_time_ns = time_ns;
}

static int take_event(struct vt_import *im, const struct vt_event_record *event)
{
	note_time(im, event->time_ns);
	if (im->is_folding && vt_periods_note(&im->periods, im->nr_events + 1, event->time_ns,
					      event->op, event->size_bytes))
		return -1;
	if (vt_import_allocations_event(&im->allocations, ++im->nr_events, event))
		return -1;
	if (event->op != VT_OP_MEMORY_INFO || event->kind != VT_KIND_SEGMENT)
		return 0;
	return vt_import_definitions_sample(&im->definitions, event,
					    vt_peak_used(&im->peak, event->device));
}

static int take_mark(struct vt_import *im, const struct vt_mark_record *mark)
{
	note_time(im, mark->time_ns);
	if (im->is_folding &&
	    vt_periods_note_mark(&im->periods, im->nr_events + 1, mark->time_ns))
		return -1;
	return vt_import_rows_mark(&im->rows, ++im->nr_events, mark);
}

static int take_module(struct vt_import *im, const struct vt_module_record *module)
{
	if (vt_import_stacks_module(&im->stacks, module))
		return -1;
	if (im->is_elsewhere)
		return 0;
	return vt_import_definitions_torch(&im->definitions, module);
}

static int take_code(struct vt_import *im, const struct vt_python_code_record *code)
{
	if (vt_import_stacks_code(&im->stacks, code))
		return -1;
	return vt_import_generated_code(&im->generated, code);
}

static int take_record(struct vt_import *im, const struct vt_record *record)
{
	const void *p = record;

	switch ((enum vt_record_type)record->type) {
	case VT_RECORD_EVENT:
		return take_event(im, p);
	case VT_RECORD_MARK:
		return take_mark(im, p);
	case VT_RECORD_INFO:
		return vt_import_definitions_info(&im->definitions, p);
	case VT_RECORD_STRING:
		return vt_import_definitions_string(&im->definitions, p);
	case VT_RECORD_DEVICE:
		return vt_import_definitions_device(&im->definitions, p);
	case VT_RECORD_MODULE:
		return take_module(im, p);
	case VT_RECORD_NATIVE_STACK:
		return vt_import_stacks_native(&im->stacks, p);
	case VT_RECORD_PYTHON_CODE:
		return take_code(im, p);
	case VT_RECORD_PYTHON_STACK:
		return vt_import_stacks_python(&im->stacks, p);
	case VT_RECORD_PROBE:
		return vt_import_names_probe(&im->names, im->nr_events, p);
	case VT_RECORD_TENSOR:
		return vt_import_names_tensor(&im->names, im->nr_events, p);
	case VT_RECORD_TORCH_MODULE:
		return vt_import_names_torch_module(&im->names, im->nr_events, p);
	case VT_RECORD_OPERATOR:
		return vt_import_operators_begin(&im->operators, im->nr_events, p);
	case VT_RECORD_OPERATOR_END:
		return vt_import_operators_end(&im->operators, im->nr_events, p);
	case VT_RECORD_SOURCE:
		return vt_import_names_source(&im->names, p);
	case VT_RECORD_PAD:
		return 0;
	}
	/* Of a newer version: skipped. */
	return 0;
}

static int write_counts(struct vt_import *im, const struct vt_journal_header *header)
{
	int rc = 0;

	rc |= set_int(im, VT_RUN_IMPORTED_SLOTS, im->reader.slot);
	rc |= set_int(im, VT_RUN_EVENTS, im->nr_events);
	rc |= set_int(im, VT_RUN_LOST_EVENTS,
		      __atomic_load_n(&header->lost_events, __ATOMIC_RELAXED));
	rc |= set_int(im, VT_RUN_TORN_RECORDS, im->reader.torn_records);
	rc |= set_int(im, VT_RUN_REUSED_ADDRESSES, im->allocations.nr_reused);
	rc |= set_int(im, VT_RUN_UNKNOWN_FREES, im->allocations.nr_unknown_frees);
	rc |= set_int(im, VT_RUN_DURATION, im->last_time_ns - im->start_time_ns);
	return rc;
}

static int fold(struct vt_import *im)
{
	if (!im->is_folding)
		return 0;
	if (vt_periods_save(&im->periods))
		return -1;
	return vt_fold_run(&im->fold, im->nr_events, im->last_time_ns);
}

int64_t vt_import_batch(struct vt_import *im, const struct vt_journal_header *header,
			const void *slots, uint64_t nr_slots, int is_writer_dead,
			uint64_t max_records, struct vt_diag *diag)
{
	const uint64_t first_slot = im->reader.slot;
	const struct vt_record *record;
	int has_begun = 0, rc = 0;

	/* Each may become a row. */
	if (max_records > VT_DB_IMAGE_MOST_ROWS)
		max_records = VT_DB_IMAGE_MOST_ROWS;
	if (im->is_folding && max_records > VT_FOLD_BATCH_RECORDS)
		max_records = VT_FOLD_BATCH_RECORDS;
	im->reader.is_writer_dead = is_writer_dead;
	vt_journal_reader_feed(&im->reader, slots, nr_slots);
	while (max_records-- && (record = vt_journal_reader_next(&im->reader))) {
		if (!has_begun && (has_begun = 1) && vt_db_begin(im->db))
			return fail(im, diag);
		if (take_record(im, record))
			return fail(im, diag);
	}
	if (im->reader.slot == first_slot)
		return 0;
	if (!has_begun)
		rc = vt_db_begin(im->db);
	if (rc || vt_peak_save(&im->peak, im->db) || fold(im) || vt_import_rows_flush(&im->rows) ||
	    write_counts(im, header) || vt_db_commit(im->db))
		return fail(im, diag);
	return (int64_t)(im->reader.slot - first_slot);
}

static int write_end(struct vt_import *im, const struct vt_journal_header *header)
{
	char *known = vt_db_run_get(im->db, vt_run_key(VT_RUN_ENDED));
	char text[32] = "killed";
	int rc = 0;

	if (header->has_exit_status) {
		snprintf(text, sizeof(text), "exit %u", header->exit_status);
		rc |= set_int(im, VT_RUN_EXIT_STATUS, header->exit_status);
		if (header->has_exit_status == VT_JOURNAL_EXIT_CALL)
			rc |= set_int(im, VT_RUN_NO_EXIT_HANDLERS, 1);
	}
	if (header->exit_time_ns)
		note_time(im, header->exit_time_ns);
	if (!known || !strcmp(known, "running"))
		rc |= vt_db_run_set(im->db, vt_run_key(VT_RUN_ENDED), text);
	if (header->off_reason)
		rc |= vt_db_run_set(im->db, vt_run_key(VT_RUN_RECORDING_STOPPED),
				    strerror((int)header->off_reason));
	free(known);
	return rc;
}

/* What was only needed to go on, and what will never be known. */
static const char clean_up[] =
	"DELETE FROM python_line_table;"
	"UPDATE python_frame SET line = 0 WHERE line < 0;"
	"INSERT INTO python_code SELECT DISTINCT code, '', '?', 0 FROM python_frame"
	" WHERE code NOT IN (SELECT id FROM python_code)";

/* A fact of few runs.  It is taken back where the rest of the journal came later. */
static int write_missing(struct vt_import *im, uint64_t missing_slots)
{
	if (missing_slots == get_int(im, VT_RUN_MISSING_SLOTS))
		return 0;
	return set_int(im, VT_RUN_MISSING_SLOTS, missing_slots);
}

int vt_import_finish(struct vt_import *im, const struct vt_journal_header *header,
		     uint64_t missing_slots, struct vt_diag *diag)
{
	if (vt_db_begin(im->db) || write_end(im, header) || write_counts(im, header) ||
	    write_missing(im, missing_slots) || vt_db_exec(im->db, clean_up) ||
	    vt_db_commit(im->db))
		return fail(im, diag);
	return 0;
}

int vt_import_is_folding(const struct vt_import *im)
{
	return im->is_folding;
}

int vt_import_has_room(struct vt_import *im)
{
	if (!im->is_folding || !im->fold.keep.bytes ||
	    vt_db_log_bytes(im->db) <= vt_keep_log_bytes(&im->fold.keep))
		return 1;
	return !vt_db_empty_log(im->db);
}

void vt_import_get_progress(const struct vt_import *im, struct vt_import_progress *progress)
{
	progress->imported_slots = im->reader.slot;
	progress->event_count = im->nr_events;
}
