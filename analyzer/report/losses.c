/* SPDX-License-Identifier: MIT */
#include "analyzer/report/losses.h"

#include <stdlib.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"

VT_VECTOR_DECLARE(losses, char *);

static const struct kind {
	const char *key;
	const char *before;
	const char *one, *many;
	const char *what;
} kinds[] = {
	{ "lost_events", "", "event found", "events found",
	  "no room: what was freed by them seems to be alive, what they made is not there" },
	{ "torn_records", "", "record was", "records were",
	  "not finished when the program ended" },
	{ "missing_slots", "the journal ends before its end: ", "slot is", "slots are",
	  "missing; the figures are of what is there" },
};

static uint64_t number_of(struct vt_db *db, const char *key)
{
	int64_t nr = vt_db_run_get_int(db, key, 0);

	return nr > 0 ? (uint64_t)nr : 0;
}

struct vt_lines vt_losses_find(struct vt_db *db)
{
	char *stopped = vt_printable_make(vt_db_run_get(db, "recording_stopped"));
	struct losses losses = { 0 };
	char count[VT_UNITS_MAX];

	for (size_t i = 0; i < VT_ARRAY_SIZE(kinds); i++) {
		const struct kind *kind = &kinds[i];
		uint64_t nr = number_of(db, kind->key);

		if (nr)
			vt_vector_push(&losses,
				       vt_xasprintf("%s%s %s %s", kind->before,
						    vt_units_count(count, sizeof(count), nr),
						    nr == 1 ? kind->one : kind->many, kind->what));
	}
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

int vt_losses_is_cut(struct vt_db *db)
{
	return number_of(db, "missing_slots") != 0;
}
