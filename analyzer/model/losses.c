/* SPDX-License-Identifier: MIT */
#include "analyzer/model/losses.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/model/folded.h"

VT_VECTOR_DECLARE(losses, char *);

static const struct kind {
	const char *key;
	const char *before;
	const char *one, *many;
	const char *what;
} kinds[] = {
	{ "lost_events", "", "event was", "events were",
	  "lost because the journal was full: their allocations are missing, and memory "
	  "that they freed may appear live" },
	{ "torn_records", "", "record was", "records were", "not finished when the program ended" },
	{ "missing_slots", "the journal is truncated: ", "slot is", "slots are",
	  "missing; figures cover only the events before the cut" },
};

static uint64_t number_of(struct vt_db *db, const char *key)
{
	int64_t nr = vt_db_run_get_int(db, key, 0);

	return nr > 0 ? (uint64_t)nr : 0;
}

/* What was alive when events were lost and never came up again; one row per kind. */
#define LAST_LOSS                                                                                  \
	"(SELECT max(e.id) FROM event e JOIN operation o ON o.id = e.op WHERE o.name = 'loss')"
static const char unheard_by_kind[] =
	"SELECT k.name, count(*), sum(a.size_bytes) FROM allocation a"
	" JOIN memory_kind k ON k.id = a.kind WHERE a.freed_event IS NULL AND a.id < " LAST_LOSS
	" AND k.name IN ('block', 'segment', 'pool', 'managed') GROUP BY k.id";
/*
 * Per device, the blocks that are alive at the last one after the loss, and what PyTorch's
 * allocator said at it.
 */
static const char surplus[] =
	"WITH last AS (SELECT max(id) AS id, device, allocated_bytes FROM allocation WHERE kind ="
	" (SELECT id FROM memory_kind WHERE name = 'block') AND id > " LAST_LOSS " GROUP BY device)"
	" SELECT count(*), sum(max(0, (SELECT sum(a.size_bytes) FROM allocation a WHERE a.device ="
	" last.device AND a.kind = (SELECT id FROM memory_kind WHERE name = 'block') AND a.id <="
	" last.id AND (a.freed_event IS NULL OR a.freed_event > last.id)) - allocated_bytes))"
	" FROM last";

/* Bytes of blocks that are counted and that PyTorch's allocator has no more; -1: it did not say. */
static int64_t surplus_of(struct vt_db *db)
{
	struct vt_stmt *stmt = vt_db_prepare(db, surplus);
	int64_t bytes = -1;

	if (vt_stmt_step(stmt) == 1 && vt_stmt_int(stmt, 0) > 0)
		bytes = vt_stmt_int(stmt, 1);
	vt_stmt_free(stmt);
	return bytes;
}

struct unheard {
	uint64_t nr;
	uint64_t size_bytes;
};

/* "12 block allocations (3.00 MiB) from before events were lost, of which nothing was heard" */
static char *describe_unheard(const struct unheard *unheard, const char *kind)
{
	char count[VT_UNITS_MAX], bytes[VT_UNITS_MAX];

	return vt_xasprintf("%s %sallocation%s (%s) from before the loss, with no event since",
			    vt_units_count(count, sizeof(count), unheard->nr), kind,
			    unheard->nr == 1 ? "" : "s",
			    vt_units_bytes(bytes, sizeof(bytes), unheard->size_bytes));
}

static void add_gone(struct losses *losses, const struct unheard *blocks, int64_t surplus_bytes)
{
	char *text = describe_unheard(blocks, "block "), gone[VT_UNITS_MAX];

	vt_vector_push(losses,
		       vt_xasprintf("%s, are counted; %s of them are freed, by PyTorch's own count",
				    text,
				    vt_units_bytes(gone, sizeof(gone), (uint64_t)surplus_bytes)));
	free(text);
}

/* Weights that live to the end are never heard of again, either. */
static void add_unknown(struct losses *losses, const struct unheard *unheard)
{
	char *text = describe_unheard(unheard, "");

	vt_vector_push(losses, vt_xasprintf("%s: whether they were freed is unknown", text));
	free(text);
}

/* Frees that were lost leave memory that seems to be alive. */
static void add_unheard(struct losses *losses, struct vt_db *db)
{
	int64_t surplus_bytes = surplus_of(db);
	struct vt_stmt *stmt = vt_db_prepare(db, unheard_by_kind);
	struct unheard unknown = { 0 }, blocks = { 0 };

	while (vt_stmt_step(stmt) == 1) {
		const char *kind = vt_stmt_text(stmt, 0);
		struct unheard one = { (uint64_t)vt_stmt_int(stmt, 1),
				       (uint64_t)vt_stmt_int(stmt, 2) };

		if (!strcmp(kind, "block")) {
			blocks = one;
		} else if (surplus_bytes || strcmp(kind, "segment") != 0) {
			/* Blocks that are there lie in segments that are. */
			unknown.nr += one.nr;
			unknown.size_bytes += one.size_bytes;
		}
	}
	vt_stmt_free(stmt);
	if (blocks.nr && surplus_bytes > 0)
		add_gone(losses, &blocks, surplus_bytes);
	/* In what the driver gave out; that of an expandable segment has no place here. */
	if (surplus_bytes < 0 && !unknown.nr)
		unknown = blocks;
	if (unknown.nr)
		add_unknown(losses, &unknown);
}

int64_t vt_losses_doubted_before(struct vt_db *db)
{
	struct vt_stmt *stmt = vt_db_prepare(db, "SELECT coalesce(" LAST_LOSS ", 0)");
	int64_t event = vt_stmt_step(stmt) == 1 ? vt_stmt_int(stmt, 0) : 0;

	vt_stmt_free(stmt);
	return event && surplus_of(db) ? event : 0;
}

struct vt_lines vt_losses_find(struct vt_db *db)
{
	char *stopped = vt_printable_make(vt_db_run_get(db, "recording_stopped"));
	struct losses losses = { 0 };
	char *folded = vt_folded_describe(db), count[VT_UNITS_MAX];

	if (folded)
		vt_vector_push(&losses, folded);
	for (size_t i = 0; i < VT_ARRAY_SIZE(kinds); i++) {
		const struct kind *kind = &kinds[i];
		uint64_t nr = number_of(db, kind->key);

		if (nr)
			vt_vector_push(&losses,
				       vt_xasprintf("%s%s %s %s", kind->before,
						    vt_units_count(count, sizeof(count), nr),
						    nr == 1 ? kind->one : kind->many, kind->what));
	}
	if (number_of(db, "lost_events"))
		add_unheard(&losses, db);
	if (stopped)
		vt_vector_push(&losses, vt_xasprintf("recording stopped early: %s", stopped));
	free(stopped);
	return (struct vt_lines){ losses.items, (unsigned)losses.len };
}

uint64_t vt_losses_count(struct vt_db *db)
{
	char *stopped = vt_db_run_get(db, "recording_stopped");
	uint64_t nr = 0;

	for (size_t i = 0; i < VT_ARRAY_SIZE(kinds); i++)
		nr += number_of(db, kinds[i].key);
	if (stopped && !nr)
		nr = 1;
	free(stopped);
	return nr;
}

int vt_losses_are_counted(struct vt_db *db)
{
	return vt_losses_count(db) == number_of(db, "lost_events");
}

int vt_losses_is_cut(struct vt_db *db)
{
	return number_of(db, "missing_slots") != 0;
}
