/* SPDX-License-Identifier: MIT */
/* The NVTX callbacks as a library with NVTX in it calls them; marks are kept as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

#include "preload/export.h"
#include "preload/guard.h"
#include "preload/nvtx_abi.h"
#include "preload/nvtx_names.h"
#include "preload/probe.h"
#include "preload/tracker.h"

int vt_nvtx_initialize(vt_nvtx_export_table_fn find) __asm__("InitializeInjectionNvtx2");

#define MOST_CALLBACKS 17

static struct {
	char marks[2048];
	vt_nvtx_function_fn core[MOST_CALLBACKS], core2[MOST_CALLBACKS];
	vt_nvtx_function_fn *core_table[MOST_CALLBACKS], *core2_table[MOST_CALLBACKS];
	unsigned int size;
} t;

void vt_tracker_mark(enum vt_mark_kind kind, enum vt_mark_source source, const char *name,
		     size_t len)
{
	static const char *const kinds[] = { "", "point", "begin", "end" };
	size_t at = strlen(t.marks);

	assert_int_equal(source, VT_SOURCE_NVTX);
	assert_int_equal(len, name ? strlen(name) : 0);
	snprintf(t.marks + at, sizeof(t.marks) - at, "%s:%s ", kinds[kind], name ? name : "");
}

void vt_probe_note_mark(void)
{
}

int vt_guard_enter(void)
{
	return 1;
}

void vt_guard_leave(void)
{
}

static int get_table(int module, vt_nvtx_function_fn ***table, unsigned int *size)
{
	*table = module == VT_NVTX_MODULE_CORE ? t.core_table : t.core2_table;
	*size = t.size;
	return module == VT_NVTX_MODULE_CORE || module == VT_NVTX_MODULE_CORE2;
}

static const void *find_table(uint32_t table)
{
	static const struct vt_nvtx_callbacks callbacks = { sizeof(callbacks), get_table };

	return table == VT_NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static const void *find_no_table(uint32_t table)
{
	(void)table;
	return NULL;
}

static int start(void **state)
{
	int i;

	(void)state;
	memset(&t, 0, sizeof(t));
	t.size = MOST_CALLBACKS;
	for (i = 0; i < MOST_CALLBACKS; i++) {
		t.core_table[i] = &t.core[i];
		t.core2_table[i] = &t.core2[i];
	}
	return 0;
}

static void assert_marks(const char *expected)
{
	assert_string_equal(t.marks, expected);
	t.marks[0] = '\0';
}

/* Calls a callback by what it is in NVTX. */
#define CALL(table, number, result, types, ...)                                                    \
	((result(*) types)t.table[VT_NVTX_##number])(__VA_ARGS__)

static void core_ranges_and_marks(void **state)
{
	(void)state;
	assert_int_equal(vt_nvtx_initialize(find_table), 1);
	assert_int_equal(CALL(core, RANGE_PUSH_A, int, (const char *), "step"), VT_NVTX_NO_COUNT);
	CALL(core, MARK_A, void, (const char *), "here");
	CALL(core, MARK_W, void, (const wchar_t *), L"Gr\u00f6\u00dfe");
	assert_int_equal(CALL(core, RANGE_POP, int, (void)), VT_NVTX_NO_COUNT);
	assert_marks("begin:step point:here point:Gr\xc3\xb6\xc3\x9f" "e end: ");
}

static void names_of_every_type(void **state)
{
	struct vt_nvtx_event event = { .version = 3, .size = sizeof(event) };

	(void)state;
	vt_nvtx_initialize(find_table);
	CALL(core, MARK_EX, void, (const void *), &event);
	event.message_type = VT_NVTX_MESSAGE_ASCII;
	event.message = "narrow";
	CALL(core2, DOMAIN_MARK_EX, void, (void *, const void *), NULL, &event);
	event.message_type = VT_NVTX_MESSAGE_UNICODE;
	event.message = L"wide";
	CALL(core, RANGE_PUSH_EX, int, (const void *), &event);
	event.message_type = VT_NVTX_MESSAGE_REGISTERED;
	event.message = CALL(core2, DOMAIN_REGISTER_STRING_A, const void *,
			     (void *, const char *), NULL, "registered");
	CALL(core2, DOMAIN_RANGE_PUSH_EX, int, (void *, const void *), NULL, &event);
	event.message = CALL(core2, DOMAIN_REGISTER_STRING_W, const void *,
			     (void *, const wchar_t *), NULL, L"both");
	CALL(core, MARK_EX, void, (const void *), &event);
	CALL(core, MARK_EX, void, (const void *), NULL);
	assert_marks("point: point:narrow begin:wide begin:registered point:both point: ");
}

static void ranges_may_overlap(void **state)
{
	uint64_t ids[100];
	int i;

	(void)state;
	vt_nvtx_initialize(find_table);
	ids[0] = CALL(core, RANGE_START_A, uint64_t, (const char *), "a");
	ids[1] = CALL(core, RANGE_START_W, uint64_t, (const wchar_t *), L"b");
	CALL(core, RANGE_END, void, (uint64_t), ids[0]);
	CALL(core2, DOMAIN_RANGE_END, void, (void *, uint64_t), NULL, ids[1]);
	CALL(core, RANGE_END, void, (uint64_t), ids[1]);
	assert_marks("point:a point:b point:a (end) point:b (end) ");

	for (i = 0; i < 100; i++)
		ids[i] = CALL(core, RANGE_START_A, uint64_t, (const char *), "x");
	t.marks[0] = '\0';
	for (i = 0; i < 100; i++)
		CALL(core, RANGE_END, void, (uint64_t), ids[i]);
	/* 64 names are kept; the table is empty again for the next. */
	assert_int_equal(strlen(t.marks), 64 * strlen("point:x (end) "));
	t.marks[0] = '\0';
	ids[0] = CALL(core, RANGE_START_A, uint64_t, (const char *), "last");
	CALL(core, RANGE_END, void, (uint64_t), ids[0]);
	assert_marks("point:last point:last (end) ");

	/* What NVTX returns for a range that nobody answered for, and a number never given out. */
	t.marks[0] = '\0';
	CALL(core, RANGE_END, void, (uint64_t), 0);
	CALL(core, RANGE_END, void, (uint64_t), UINT64_MAX);
	assert_marks("");
}

static void small_tables_are_respected(void **state)
{
	int i;

	(void)state;
	t.size = VT_NVTX_RANGE_PUSH_A;
	t.core_table[VT_NVTX_MARK_A] = NULL;
	assert_int_equal(vt_nvtx_initialize(find_table), 1);
	assert_non_null(t.core[VT_NVTX_MARK_EX]);
	for (i = VT_NVTX_RANGE_PUSH_A; i < MOST_CALLBACKS; i++)
		assert_null(t.core[i]);
	assert_int_equal(vt_nvtx_initialize(find_no_table), 0);
	assert_int_equal(vt_nvtx_initialize(NULL), 0);
}

static void long_names_are_cut_and_kept(void **state)
{
	char text[2 * VT_NVTX_LONGEST_NAME];
	const char *first, *kept = NULL;
	struct vt_nvtx_name name;
	int i;

	(void)state;
	memset(text, 'n', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	vt_nvtx_names_narrow(&name, text);
	assert_int_equal(name.len, VT_NVTX_LONGEST_NAME);
	first = vt_nvtx_names_keep(&name);
	/* More than one chunk. */
	for (i = 0; i < 1000; i++)
		kept = vt_nvtx_names_keep(&name);
	assert_string_equal(kept, name.text);
	assert_string_equal(first, name.text);
	assert_ptr_not_equal(first, kept);
	vt_nvtx_names_wide(&name, NULL);
	assert_int_equal(name.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(core_ranges_and_marks, start),
		cmocka_unit_test_setup(names_of_every_type, start),
		cmocka_unit_test_setup(ranges_may_overlap, start),
		cmocka_unit_test_setup(small_tables_are_respected, start),
		cmocka_unit_test_setup(long_names_are_cut_and_kept, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
