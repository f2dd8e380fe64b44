/* SPDX-License-Identifier: MIT */
/* What is written as differences comes out as it was, by the view and by the model. */
#include "tests/lib/unit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/import/import_rows.h"
#include "analyzer/model/allocation_rows.h"
#include "common/kinds.h"

#define NR_ROWS   3000u
#define PER_BATCH 70u /* no divisor of 256 */

struct made {
	struct vt_event_record record;
	struct vt_row_end end;
	uint64_t row, id, end_batch;
};

static struct {
	struct vt_db *db;
	struct made made[NR_ROWS];
} g;

static uint64_t below(uint64_t *seed, uint64_t nr)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (*seed >> 33) % nr;
}

/* Small steps, and large ones in both directions. */
static uint64_t near(uint64_t *seed, uint64_t value)
{
	uint64_t step = below(seed, 1ull << below(seed, 30)) << (below(seed, 2) ? 9 : 0);

	return below(seed, 3) ? value + step : value - step;
}

static void make_record(uint64_t *seed, struct vt_event_record *record)
{
	static const uint16_t kinds[] = { VT_KIND_BLOCK, VT_KIND_BLOCK, VT_KIND_BLOCK,
					  VT_KIND_SEGMENT, VT_KIND_VMM };
	int is_block;

	memset(record, 0, sizeof(*record));
	record->op = VT_OP_ALLOC;
	record->kind = kinds[below(seed, 5)];
	is_block = record->kind == VT_KIND_BLOCK;
	record->device = (int32_t)below(seed, 3) - 1;
	record->thread = (uint32_t)below(seed, 3);
	record->python_stack = (uint32_t)below(seed, 20);
	record->function = 1;
	record->address = near(seed, record->kind == VT_KIND_VMM ? 5 : 0x7f1234567800);
	record->size_bytes = near(seed, 1ull << 40);
	record->extra = is_block && below(seed, 2) ? record->size_bytes - below(seed, 512) : 0;
	record->time_ns = near(seed, 1ull << 45);
	record->node_sequence = below(seed, 2) ? UINT64_MAX : near(seed, 1ull << 31);
	record->forward_sequence = below(seed, 2) ? UINT64_MAX : near(seed, 1ull << 31);
	record->allocated_bytes = is_block ? near(seed, 1ull << 38) : 0;
	record->reserved_bytes = is_block ? below(seed, 3) << 30 : 0;
}

static void make_rows(void)
{
	uint64_t seed = 1, id = 0;

	for (uint64_t i = 0; i < NR_ROWS; i++) {
		struct made *made = &g.made[i];

		make_record(&seed, &made->record);
		made->id = id += 1 + below(&seed, 4);
		made->end_batch = i / PER_BATCH + below(&seed, 4);
		if (!below(&seed, 10))
			continue;
		make_record(&seed, &made->end.record);
		made->end.event = id + 1 + below(&seed, 1000);
	}
}

/* Each batch is a transaction; every third one opens the database again. */
static void write_batch(struct vt_import_rows *rows, uint64_t batch)
{
	assert_int_equal(vt_db_begin(g.db), 0);
	for (uint64_t i = 0; i < NR_ROWS && i / PER_BATCH <= batch; i++) {
		struct made *made = &g.made[i];

		if (i / PER_BATCH == batch)
			made->row = vt_import_rows_allocation(rows, made->id, &made->record);
		if (!made->end.event || made->end_batch != batch)
			continue;
		vt_import_rows_end(rows, i / PER_BATCH == batch ? made->row : VT_ROW_WRITTEN,
				   made->id, &made->end);
	}
	assert_int_equal(vt_import_rows_flush(rows), 0);
	assert_int_equal(vt_db_commit(g.db), 0);
}

static void write_rows(void)
{
	struct vt_import_rows rows;

	vt_import_rows_init(&rows, g.db);
	for (uint64_t batch = 0; batch < NR_ROWS / PER_BATCH + 4; batch++) {
		if (batch % 3 == 2) {
			vt_import_rows_release(&rows);
			vt_import_rows_init(&rows, g.db);
		}
		write_batch(&rows, batch);
	}
	vt_import_rows_release(&rows);
}

static int set_up(void **state)
{
	struct vt_diag diag = { 0 };

	(void)state;
	if (vt_db_open_memory(&g.db, "rows.db", &diag))
		return -1;
	make_rows();
	write_rows();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vt_db_close(g.db);
	return 0;
}

static void assert_column(struct vt_stmt *stmt, int column, uint64_t value)
{
	assert_false(vt_stmt_is_null(stmt, column));
	assert_int_equal(vt_stmt_int(stmt, column), value);
}

static void assert_column_or_null(struct vt_stmt *stmt, int column, uint64_t value, uint64_t null)
{
	if (value == null)
		assert_true(vt_stmt_is_null(stmt, column));
	else
		assert_column(stmt, column, value);
}

static void the_view_has_what_was_written(void **state)
{
	struct vt_stmt *stmt = vt_db_prepare(
		g.db,
		"SELECT id, kind, device, address, size_bytes, requested_bytes, time_ns,"
		" node_sequence, forward_sequence, allocated_bytes, reserved_bytes,"
		" python_stack, freed_event, freed_time_ns, freed_python_stack,"
		" freed_node_sequence FROM allocation ORDER BY id");

	(void)state;
	for (size_t i = 0; i < NR_ROWS; i++) {
		const struct vt_event_record *r = &g.made[i].record, *end = &g.made[i].end.record;
		int is_block = r->kind == VT_KIND_BLOCK;

		assert_int_equal(vt_stmt_step(stmt), 1);
		assert_column(stmt, 0, g.made[i].id);
		assert_column(stmt, 1, r->kind);
		assert_column(stmt, 2, (uint64_t)r->device);
		assert_column(stmt, 3, r->address);
		assert_column(stmt, 4, r->size_bytes);
		assert_column_or_null(stmt, 5, is_block ? r->extra : 0, 0);
		assert_column(stmt, 6, r->time_ns);
		assert_column_or_null(stmt, 7, r->node_sequence, UINT64_MAX);
		assert_column_or_null(stmt, 8, r->forward_sequence, UINT64_MAX);
		assert_column(stmt, 9, r->allocated_bytes);
		assert_column(stmt, 10, r->reserved_bytes);
		assert_column_or_null(stmt, 11, r->python_stack, 0);
		assert_column_or_null(stmt, 12, g.made[i].end.event, 0);
		if (!g.made[i].end.event)
			continue;
		assert_column(stmt, 13, end->time_ns);
		assert_column_or_null(stmt, 14, end->python_stack, 0);
		assert_column_or_null(stmt, 15, end->node_sequence, UINT64_MAX);
	}
	assert_int_equal(vt_stmt_step(stmt), 0);
	vt_stmt_free(stmt);
}

static uint32_t sequence(uint64_t sequence)
{
	return sequence == UINT64_MAX ? (uint32_t)VT_NO_SEQUENCE
				      : vt_allocation_sequence((int64_t)sequence);
}

static void assert_row(const struct vt_allocation *a, const struct made *made)
{
	const struct vt_event_record *r = &made->record, *end = &made->end.record;

	assert_int_equal(a->event, made->id);
	assert_int_equal(a->address, r->address);
	assert_int_equal(a->common->size_bytes, r->size_bytes);
	assert_int_equal(a->common->requested_bytes, r->kind == VT_KIND_BLOCK ? r->extra : 0);
	assert_int_equal(a->common->device, r->device);
	assert_int_equal(a->common->kind, r->kind);
	assert_int_equal(a->common->made->python_stack, r->python_stack);
	assert_int_equal(a->node_sequence, sequence(r->node_sequence));
	assert_int_equal(a->forward_sequence, sequence(r->forward_sequence));
	assert_int_equal(a->freed_event, made->end.event ? made->end.event : (uint64_t)VT_NEVER);
	if (!made->end.event)
		return;
	assert_int_equal(a->common->freed->python_stack, end->python_stack);
	assert_int_equal(a->freed_node_sequence, sequence(end->node_sequence));
}

static void the_model_has_what_was_written(void **state)
{
	struct vt_allocation_rows rows;
	struct vt_diag diag = { 0 };

	(void)state;
	assert_int_equal(vt_db_exec(g.db, "BEGIN"), 0);
	assert_int_equal(vt_allocation_rows_load(g.db, VT_ALLOCATIONS_ALL, 0, &rows, &diag), 0);
	assert_int_equal(rows.nr, NR_ROWS);
	for (uint32_t i = 0; i < rows.nr; i++)
		assert_row(&rows.items[i], &g.made[i]);
	free(rows.items);
	vt_allocation_times_release(&rows.times);
	vt_callers_release(&rows.callers);
	vt_interned_release(&rows.commons);
}

static void packed_bytes_come_out_as_they_were(void **state)
{
	static const uint64_t most = 1ull << 62;

	(void)state;
	for (unsigned int bit = 0; bit < 64; bit++)
		for (uint64_t less = 0; less < 3; less++) {
			uint64_t aligned = (1ull << bit) - less * 512, odd = (1ull << bit) - less;

			if (aligned % 512 == 0)
				assert_int_equal(vt_allocation_base_unpack(
							 (int64_t)vt_allocation_base_pack(aligned)),
						 aligned);
			if (odd + most < 2 * most)
				assert_int_equal(vt_allocation_base_unpack(
							 (int64_t)vt_allocation_base_pack(odd)),
						 odd);
		}
	/* Few bytes of a row: 64 GiB in four. */
	assert_int_equal(vt_allocation_base_pack(64ull << 30), 1ull << 28);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_view_has_what_was_written),
		TEST(the_model_has_what_was_written),
		cmocka_unit_test(packed_bytes_come_out_as_they_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
