/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/python_abi.h"
#include "preload/python_read.h"
#include "preload/utf8.h"

/* A str object as 3.12 lays it out, and where its characters begin. */
#define ASCII_AT   40
#define COMPACT_AT 56
#define KIND(bytes, is_ascii) ((uint32_t)(bytes) << 2 | 1u << 5 | (uint32_t)(is_ascii) << 6)

struct string {
	char bytes[256];
};

static struct string make(uint32_t state, size_t data_at, const void *data, size_t data_bytes,
			  int64_t characters)
{
	struct string string = { { 0 } };

	memcpy(string.bytes + 16, &characters, sizeof(characters));
	memcpy(string.bytes + 32, &state, sizeof(state));
	memcpy(string.bytes + data_at, data, data_bytes);
	return string;
}

static struct vt_python_abi abi_of(unsigned minor)
{
	struct vt_python_abi abi;

	assert_int_equal(vt_python_abi_layout(&abi, minor, NULL), 0);
	return abi;
}

static void assert_text(const struct vt_python_abi *abi, const struct string *string, size_t size,
			const char *expected)
{
	char out[64];
	size_t len = vt_python_read_text(abi, string, out, size);

	assert_int_equal(len, strlen(expected));
	assert_memory_equal(out, expected, len);
}

static void text_of_every_width(void **state)
{
	const struct vt_python_abi abi = abi_of(12);
	const uint16_t two[] = { 'a', 0x6a21, 0xd800 };
	const uint32_t four[] = { 0x1d4dc, 'b', 0xe9 };
	struct string string;

	(void)state;
	string = make(KIND(1, 1), ASCII_AT, "forward", 7, 7);
	assert_text(&abi, &string, 64, "forward");
	string = make(KIND(1, 0), COMPACT_AT, "caf\xe9", 4, 4);
	assert_text(&abi, &string, 64, "caf\xc3\xa9");
	string = make(KIND(2, 0), COMPACT_AT, two, sizeof(two), 3);
	assert_text(&abi, &string, 64, "a\xe6\xa8\xa1\xef\xbf\xbd");
	string = make(KIND(4, 0), COMPACT_AT, four, sizeof(four), 3);
	assert_text(&abi, &string, 64, "\xf0\x9d\x93\x9c" "b\xc3\xa9");
}

static void text_is_cut_between_characters(void **state)
{
	const struct vt_python_abi abi = abi_of(12);
	const uint16_t two[] = { 0x6a21, 0x578b };
	struct string string = make(KIND(2, 0), COMPACT_AT, two, sizeof(two), 2);

	(void)state;
	assert_text(&abi, &string, 5, "\xe6\xa8\xa1");
	assert_text(&abi, &string, 2, "");
	string = make(KIND(1, 1), ASCII_AT, "forward", 7, 7);
	assert_text(&abi, &string, 3, "for");
}

static void text_that_is_none_is_refused(void **state)
{
	const struct vt_python_abi abi = abi_of(12);
	struct string string = make(KIND(3, 0), COMPACT_AT, "x", 1, 1);

	(void)state;
	assert_text(&abi, &string, 64, "");
	string = make(1u << 2, COMPACT_AT, "x", 1, 1); /* not compact */
	assert_text(&abi, &string, 64, "");
	string = make(KIND(1, 1), ASCII_AT, "x", 1, -1);
	assert_text(&abi, &string, 64, "");
	assert_int_equal(vt_python_read_text(&abi, NULL, string.bytes, 1), 0);
}

/* In a free-threaded interpreter `interned` is a bit field or a byte of its own. */
static void text_with_both_state_words(void **state)
{
	struct vt_python_abi abi = abi_of(12);
	struct string string = make(KIND(1, 1) | 3, ASCII_AT, "step", 4, 4);

	(void)state;
	abi.is_free_threaded = 1;
	assert_text(&abi, &string, 64, "step");
	string = make((KIND(1, 1) & ~3u) << 6 | 3, ASCII_AT, "step", 4, 4);
	assert_text(&abi, &string, 64, "step");
}

/* A _PyRuntime of 3.13: only what is read, everything else as if it were damaged. */
struct runtime {
	uint64_t words[100];
};

static struct runtime make_runtime(unsigned minor, uint64_t offset)
{
	struct runtime runtime;
	size_t i;

	for (i = 0; i < 100; i++)
		runtime.words[i] = offset;
	memcpy(runtime.words, "xdebugpy", 8);
	runtime.words[1] = 0x3000000 | (uint64_t)minor << 16 | 0xf0;
	runtime.words[2] = 0;
	return runtime;
}

static void layout_from_published_offsets(void **state)
{
	struct runtime runtime = make_runtime(13, 16);
	struct vt_python_abi abi;

	(void)state;
	runtime.words[184 / 8] = 72; /* thread_state.current_frame */
	runtime.words[376 / 8] = 24; /* type_object.tp_name */
	runtime.words[2] = 1;
	assert_int_equal(vt_python_abi_layout(&abi, 13, &runtime), 0);
	assert_int_equal(abi.minor, 13);
	assert_int_equal(abi.thread_frame, 72);
	assert_int_equal(abi.type_free, 48);
	assert_int_equal(abi.string_hash, 24);
	assert_int_equal(abi.type_mro, 344);
	assert_int_equal(abi.thread_cframe, 0);
	assert_true(abi.is_free_threaded);
	assert_int_equal(abi.code_copies, 0);
}

static void layout_that_is_not_known_is_refused(void **state)
{
	struct runtime runtime = make_runtime(14, 16);
	struct vt_python_abi abi;

	(void)state;
	assert_int_equal(vt_python_abi_layout(&abi, 14, &runtime), 0);
	assert_int_equal(vt_python_abi_layout(&abi, 13, &runtime), -1);
	assert_int_equal(vt_python_abi_layout(&abi, 14, NULL), -1);
	assert_int_equal(vt_python_abi_layout(&abi, 15, &runtime), -1);
	assert_int_equal(vt_python_abi_layout(&abi, 8, NULL), -1);
	runtime.words[288 / 8] = 5000; /* interpreter_frame.owner */
	assert_int_equal(vt_python_abi_layout(&abi, 14, &runtime), -1);
	runtime = make_runtime(14, 16);
	runtime.words[0] = 0;
	assert_int_equal(vt_python_abi_layout(&abi, 14, &runtime), -1);
}

static const char *version_text;

static const char *get_version(void)
{
	return version_text;
}

static int answer_zero(void)
{
	return 0;
}

static void *find_all_but_traces(const char *symbol)
{
	static const char type;

	if (strcmp(symbol, "Py_GetVersion") == 0)
		return (void *)get_version;
	if (strcmp(symbol, "_PyRuntime") == 0 || strcmp(symbol, "_Py_PrintReferences") == 0)
		return NULL;
	return strstr(symbol, "_Type") ? (void *)&type : (void *)answer_zero;
}

static void *find_nothing(const char *symbol)
{
	(void)symbol;
	return NULL;
}

static void interpreter_is_found_by_version(void **state)
{
	struct vt_python python;

	(void)state;
	assert_int_equal(vt_python_abi_find(&python, find_nothing), VT_PYTHON_ABSENT);
	version_text = "3.11.7 (main, Jan 1 2025, 00:00:00) [GCC]";
	assert_int_equal(vt_python_abi_find(&python, find_all_but_traces), VT_PYTHON_READY);
	assert_string_equal(python.version, "3.11.7");
	assert_int_equal(python.abi.minor, 11);
	version_text = "3.99.0 (main)";
	assert_int_equal(vt_python_abi_find(&python, find_all_but_traces), VT_PYTHON_REFUSED);
	assert_string_equal(python.version, "3.99.0");
	version_text = "2.7.18";
	assert_int_equal(vt_python_abi_find(&python, find_all_but_traces), VT_PYTHON_REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_every_width),
		cmocka_unit_test(text_is_cut_between_characters),
		cmocka_unit_test(text_that_is_none_is_refused),
		cmocka_unit_test(text_with_both_state_words),
		cmocka_unit_test(layout_from_published_offsets),
		cmocka_unit_test(layout_that_is_not_known_is_refused),
		cmocka_unit_test(interpreter_is_found_by_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
