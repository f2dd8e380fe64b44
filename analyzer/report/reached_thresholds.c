/* SPDX-License-Identifier: MIT */
#include "analyzer/report/reached_thresholds.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/units.h"
#include "analyzer/output/json.h"

#define MOST_ROWS 20

static const char query[] =
	"SELECT time_ns, event, device, threshold, is_reached, bytes, threshold_bytes, what"
	" FROM warning ORDER BY time_ns, id";

void vt_reached_thresholds_print(struct vt_db *db, FILE *out)
{
	int64_t nr = vt_db_count(db, "warning"), left = MOST_ROWS;
	int64_t start_ns = vt_db_run_get_int(db, "start_time_ns", 0);
	struct vt_stmt *stmt;

	if (nr <= 0)
		return;
	fputs("WARNINGS  thresholds (--warn) reached during the run\n", out);
	stmt = vt_db_prepare(db, query);
	while (left-- && vt_stmt_step(stmt) == 1) {
		int64_t time_ns = vt_stmt_int(stmt, 0) - start_ns;
		char time[VT_UNITS_MAX], *what = vt_printable_copy(vt_stmt_text(stmt, 7));

		fprintf(out, "  t=%s, event %" PRId64 ": %s\n",
			vt_units_duration(time, sizeof(time), time_ns > 0 ? (uint64_t)time_ns : 0),
			vt_stmt_int(stmt, 1), what);
		free(what);
	}
	vt_stmt_free(stmt);
	if (nr > MOST_ROWS)
		fprintf(out, "  and %" PRId64 " more: vtrace report --json\n", nr - MOST_ROWS);
	fputc('\n', out);
}

json_t *vt_reached_thresholds_json(struct vt_db *db)
{
	static const char *const keys[] = { "time_ns",    "event", "device",          "threshold",
					    "is_reached", "bytes", "threshold_bytes", "what" };
	int64_t start_ns = vt_db_run_get_int(db, "start_time_ns", 0);
	struct vt_stmt *stmt = vt_db_prepare(db, query);
	json_t *warnings = json_array();

	while (vt_stmt_step(stmt) == 1) {
		json_t *row = vt_json_append_object(warnings);

		vt_json_set(row, keys[0], json_integer(vt_stmt_int(stmt, 0) - start_ns));
		vt_json_set(row, keys[1], json_integer(vt_stmt_int(stmt, 1)));
		vt_json_set(row, keys[2], json_integer(vt_stmt_int(stmt, 2)));
		vt_json_set(row, keys[3], vt_json_text(vt_stmt_text(stmt, 3)));
		vt_json_set(row, keys[4], json_boolean(vt_stmt_int(stmt, 4)));
		vt_json_set(row, keys[5], json_integer(vt_stmt_int(stmt, 5)));
		vt_json_set(row, keys[6], json_integer(vt_stmt_int(stmt, 6)));
		vt_json_set(row, keys[7], vt_json_text(vt_stmt_text(stmt, 7)));
	}
	vt_stmt_free(stmt);
	return warnings;
}
