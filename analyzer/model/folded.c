/* SPDX-License-Identifier: MIT */
#include "analyzer/model/folded.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/search.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"

/* As the importer keeps them (import/fold.c). */
#define INSTANTS                                                                                   \
	"(SELECT event FROM peak UNION SELECT max_allocated_event FROM peak"                       \
	" UNION SELECT event FROM period_peak UNION SELECT max_allocated_event FROM period_peak"   \
	" UNION SELECT event FROM out_of_memory)"

int vt_folded_load(struct vt_folded *folded, struct vt_db *db)
{
	struct vt_stmt *stmt;
	int64_t nr;
	int rc;

	*folded = (struct vt_folded){ .event = vt_db_run_get_int(db, "folded_event", 0) };
	if (folded->event <= 0)
		return 0;
	nr = vt_db_query_int(db, "SELECT count(*) FROM " INSTANTS, 0);
	folded->instants = vt_xcalloc((size_t)nr + 1, sizeof(*folded->instants));
	stmt = vt_db_prepare(db, "SELECT event FROM " INSTANTS " WHERE event <= ? ORDER BY event");
	vt_stmt_bind_int(stmt, 1, folded->event);
	while ((rc = vt_stmt_step(stmt)) == 1 && folded->nr < nr)
		folded->instants[folded->nr++] = vt_stmt_int(stmt, 0);
	vt_stmt_free(stmt);
	return rc < 0 ? -1 : 0;
}

void vt_folded_release(struct vt_folded *folded)
{
	free(folded->instants);
	*folded = (struct vt_folded){ 0 };
}

int vt_folded_has_instant(const struct vt_folded *folded, int64_t event)
{
	uint32_t at = vt_search_first(i, folded->nr, folded->instants[i] < event);

	return at < folded->nr && folded->instants[at] == event;
}

static char *describe_failures(struct vt_db *db)
{
	int64_t all = vt_db_query_int(db, "SELECT sum(failed_requests) FROM period", 0);
	int64_t known = vt_db_count(db, "out_of_memory");

	if (all <= known)
		return vt_xstrdup("");
	return vt_xasprintf("; of %lld requests that failed %lld are known", (long long)all,
			    (long long)known);
}

char *vt_folded_describe(struct vt_db *db)
{
	int64_t event = vt_db_run_get_int(db, "folded_event", 0);
	int64_t time_ns = vt_db_run_get_int(db, "folded_time_ns", 0) -
			  vt_db_run_get_int(db, "start_time_ns", 0);
	int64_t nr_periods = vt_db_query_int(db, "SELECT count(*) FROM period", 0);
	char *keep, *failures, *text, count[VT_UNITS_MAX], time[VT_UNITS_MAX];

	if (event <= 0)
		return NULL;
	keep = vt_printable_make(vt_db_run_get(db, "keep"));
	failures = describe_failures(db);
	text = vt_xasprintf(
		"details of the first %s events, up to t=%s, were discarded (--keep %s); kept are "
		"blocks that outlived them, and those live at the %s %lld period%s%s",
		vt_units_count(count, sizeof(count), (uint64_t)event),
		vt_units_duration(time, sizeof(time), time_ns > 0 ? (uint64_t)time_ns : 0),
		keep ? keep : "?", nr_periods == 1 ? "peak of" : "peaks of", (long long)nr_periods,
		nr_periods == 1 ? "" : "s", failures);
	free(keep);
	free(failures);
	return text;
}
