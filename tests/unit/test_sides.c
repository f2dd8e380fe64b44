/* SPDX-License-Identifier: MIT */
/* What is left of a recording that was read to be compared: what was live at the moment. */
#include "tests/lib/unit.h"

#include "analyzer/diff/sides.h"
#include "analyzer/model/when.h"
#include "tests/lib/database_builder.h"

static void only_what_is_live_then_stays(void **state)
{
	const struct vt_sides_options options = { .when = "most-allocated",
						  .device = VT_WHEN_ALL_DEVICES };
	struct builder_db *b = build_open("run.db");
	struct vt_diag diag = { 0 };
	struct vt_side side;
	int64_t early;

	(void)state;
	early = build_alloc(b, &(struct build_event){ .size = 512 });
	build_free(b, early, NULL);
	build_alloc(b, &(struct build_event){ .size = 1024 });
	build_alloc(b, &(struct build_event){ .size = 2048 });
	build_close(b);
	assert_int_equal(vt_sides_open(&side, "run.db", &options, &diag), 0);
	assert_int_equal(side.nr_devices, 1);
	assert_int_equal(side.analysis.model.nr_allocations, 2);
	assert_int_equal(side.devices[0].live.len, 2);
	for (int i = 0; i < 2; i++) {
		const struct vt_changes_block *block = &side.devices[0].live.items[i];

		assert_int_equal(block->allocation, i);
		assert_int_equal(block->bytes, 1024 << i);
		assert_int_equal(side.analysis.model.allocations[i].common->size_bytes, 1024 << i);
	}
	assert_null(vt_sides_device(&side, 1));
	vt_sides_close(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_what_is_live_then_stays, unit_enter,
						unit_leave),
	};

	return cmocka_run_group_tests_name("sides", tests, NULL, NULL);
}
