/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/model/model.h"
#include "analyzer/base/util.h"
#include "analyzer/model/when.h"
#include "tests/lib/database_builder.h"

/*
 * Device 0 peaks at event 2, device 1 higher at event 3; marks at 4, 6; an out of memory at 5; 7
 * events.
 */
static void build(void)
{
	struct builder_db *b = build_open("run.db");
	int64_t freed;

	build_device(b, 0, 1 << 20, 0);
	build_device(b, 1, 1 << 20, 0);
	freed = build_alloc(b, &(struct build_event){ .kind = VT_KIND_SEGMENT, .size = 512 });
	build_alloc(b, &(struct build_event){ .kind = VT_KIND_SEGMENT, .size = 512 });
	build_alloc(b, &(struct build_event){ .kind = VT_KIND_SEGMENT, .size = 4096, .device = 1 });
	build_mark(b, "loaded", VT_MARK_POINT, VT_SOURCE_USER);
	build_oom(b, &(struct build_event){ .size = 1 << 20 });
	build_mark(b, "loaded", VT_MARK_POINT, VT_SOURCE_USER);
	build_free(b, freed, NULL);
	build_close(b);
}

static void every_way_to_name_a_moment(void **state)
{
	static const struct {
		const char *text;
		int device;
		int64_t event;
		int exit_code;
	} cases[] = {
		{ "peak", VT_WHEN_ALL_DEVICES, 3, 0 },
		{ "peak", 0, 2, 0 },
		{ "peak", 1, 3, 0 },
		{ "end", VT_WHEN_ALL_DEVICES, 7, 0 },
		{ "oom", VT_WHEN_ALL_DEVICES, 5, 0 },
		{ "oom", 1, 0, VT_EXIT_UNREADABLE },
		{ "mark:loaded", VT_WHEN_ALL_DEVICES, 4, 0 },
		{ "mark:load", VT_WHEN_ALL_DEVICES, 0, VT_EXIT_UNREADABLE },
		{ "event:1", VT_WHEN_ALL_DEVICES, 1, 0 },
		{ "event:7", VT_WHEN_ALL_DEVICES, 7, 0 },
		{ "event:8", VT_WHEN_ALL_DEVICES, 0, VT_EXIT_UNREADABLE },
		{ "event:0", VT_WHEN_ALL_DEVICES, 0, VT_EXIT_UNREADABLE },
		{ "event:-1", VT_WHEN_ALL_DEVICES, 0, VT_EXIT_USAGE },
		{ "event:3x", VT_WHEN_ALL_DEVICES, 0, VT_EXIT_USAGE },
		{ "event:", VT_WHEN_ALL_DEVICES, 0, VT_EXIT_USAGE },
		{ "event:99999999999999999999", VT_WHEN_ALL_DEVICES, 0, VT_EXIT_USAGE },
	};
	struct vt_diag open_diag = { 0 };
	struct vt_model model;
	struct vt_db *db = NULL;
	int64_t last;

	(void)state;
	build();
	assert_int_equal(vt_db_open(&db, "run.db", VT_DB_READ, &open_diag), 0);
	assert_int_equal(vt_model_load(&model, db, &open_diag), 0);

	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_diag diag = { 0 };
		int64_t event = 0;
		int rc = vt_when_resolve(&model, cases[i].text, cases[i].device, &event, &diag);

		if (event != cases[i].event || diag.exit_code != cases[i].exit_code ||
		    (rc != 0) != (diag.exit_code != 0))
			fail_msg("\"%s\" for device %d: event %d, exit code %d (%s)", cases[i].text,
				 cases[i].device, (int)event, diag.exit_code, diag.text);
	}
	/* Others may know those words. */
	assert_int_equal(vt_when_resolve(&model, "noon", 0, &last, &open_diag), 1);
	assert_int_equal(vt_when_resolve(&model, "", 0, &last, &open_diag), 1);
	assert_int_equal(open_diag.exit_code, 0);
	vt_model_release(&model);
	vt_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_way_to_name_a_moment, unit_enter, unit_leave),
	};

	return cmocka_run_group_tests_name("when", tests, NULL, NULL);
}
