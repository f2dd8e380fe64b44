/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>

#include "analyzer/import/import.h"

#define MIB (1ull << 20)

static void tensor(struct builder *b, uint32_t role, uint64_t address, uint32_t name)
{
	struct vt_tensor_record r = {
		.probe = 1,
		.address = address,
		.size_bytes = MIB,
		.role = role,
		.flags = VT_TENSOR_LEAF,
		.name = name,
	};

	builder_append(b, VT_RECORD_TENSOR, &r, sizeof(r));
}

/* Addresses are given out again: which allocation was meant is a question of when. */
static void a_tensor_belongs_to_the_allocation_that_was_live_then(void **state)
{
	static const char named[] =
		"SELECT a.id FROM tensor t JOIN allocation a ON a.address = t.address"
		" AND a.id <= t.event AND (a.freed_event IS NULL"
		" OR a.freed_event > t.event) WHERE t.name = %d";
	struct builder b;
	struct vt_db *db;
	char sql[512];

	(void)state;
	builder_init(&b);
	builder_string(&b, 1, "first.weight");
	builder_string(&b, 2, "second.weight");
	builder_alloc(&b, VT_KIND_BLOCK, 0x1000, MIB);
	tensor(&b, VT_ROLE_PARAMETER, 0x1000, 1);
	builder_free(&b, VT_KIND_BLOCK, 0x1000);
	builder_alloc(&b, VT_KIND_BLOCK, 0x1000, MIB);
	tensor(&b, VT_ROLE_PARAMETER, 0x1000, 2);
	db = unit_import(&b, "names.db");

	snprintf(sql, sizeof(sql), named, 1);
	assert_int_equal(unit_int(db, sql), 1);
	snprintf(sql, sizeof(sql), named, 2);
	assert_int_equal(unit_int(db, sql), 3);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM tensor t JOIN tensor_role r"
				      " ON r.id = t.role WHERE r.name = 'parameter'"
				      " AND shape IS NULL AND flags = 2"),
			 2);
	/* They are no events. */
	assert_int_equal(vt_db_run_get_int(db, "events", -1), 3);
	vt_db_close(db);
	builder_release(&b);
}

static void a_probe_and_its_modules_are_rows(void **state)
{
	struct vt_torch_module_record module = { .address = 0x7f00,
						 .probe = 1,
						 .class_name = 1,
						 .root_address = 0x7000 };
	struct vt_probe_record probe = { .time_ns = 5,
					 .duration_ns = 7,
					 .probe = 1,
					 .nr_tensors = 3 };
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_string(&b, 1, "Linear");
	builder_alloc(&b, VT_KIND_SEGMENT, 0x1000, MIB);
	builder_append(&b, VT_RECORD_TORCH_MODULE, &module, sizeof(module));
	builder_append(&b, VT_RECORD_PROBE, &probe, sizeof(probe));
	db = unit_import(&b, "probe.db");

	assert_int_equal(unit_int(db, "SELECT duration_ns FROM probe"
				      " WHERE event = 1 AND tensors = 3"),
			 7);
	assert_int_equal(unit_int(db, "SELECT root_address FROM torch_module m"
				      " JOIN string s ON s.id = m.class"
				      " WHERE s.text = 'Linear' AND name IS NULL"),
			 0x7000);
	vt_db_close(db);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tensor_belongs_to_the_allocation_that_was_live_then),
		cmocka_unit_test(a_probe_and_its_modules_are_rows),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
