/* SPDX-License-Identifier: MIT */
/* When the dynamic loader is asked for PyTorch's functions, and when it is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Its state is that of a process: each test starts it anew. */
#include "preload/torch_real.c"

static struct {
	unsigned int nr_searches;
	const char *present;	/* the symbol that is there */
	const void *beside;	/* ... for this caller alone; NULL: in its library */
} loader;

static int here;

static void *answer(const char *symbol, int is_there)
{
	return is_there && loader.present && !strcmp(symbol, loader.present) ? &here : NULL;
}

void *vt_real_symbol_in(const char *prefix, const char *symbol)
{
	(void)prefix;
	loader.nr_searches++;
	return answer(symbol, !loader.beside);
}

void *vt_real_symbol_next(const char *symbol)
{
	(void)symbol;
	return NULL;
}

void *vt_real_symbol_beside(const void *address, const char *symbol)
{
	return answer(symbol, loader.beside == address);
}

static int start(void **state)
{
	(void)state;
	memset(&g, 0, sizeof(g));
	memset(vt_torch_real_known, 0, sizeof(vt_torch_real_known));
	memset(&loader, 0, sizeof(loader));
	return 0;
}

static void what_was_prepared_is_not_searched(void **state)
{
	(void)state;
	loader.present = VT_TORCH_THREAD;
	vt_torch_real_prepare();
	vt_torch_real_prepare();
	assert_int_equal(loader.nr_searches, VT_TORCH_FUNCTION_COUNT);
	assert_ptr_equal(vt_torch_real_find(VT_TORCH_FUNCTION_THREAD, NULL), &here);
	assert_int_equal(loader.nr_searches, VT_TORCH_FUNCTION_COUNT);
}

static void what_is_missing_is_searched_now_and_then(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 100000; i++)
		assert_null(vt_torch_real_find(VT_TORCH_FUNCTION_THREAD, NULL));
	/* Doubling up to every 4,096th time: 13 + 100,000 / 4,096. */
	assert_in_range(loader.nr_searches - VT_TORCH_FUNCTION_COUNT, 1, 40);
}

static void what_comes_later_is_found(void **state)
{
	unsigned int i = 0;

	(void)state;
	for (; i < 1000; i++)
		assert_null(vt_torch_real_find(VT_TORCH_FUNCTION_REPORT_V3, NULL));
	loader.present = VT_TORCH_REPORT_V3;
	while (!vt_torch_real_find(VT_TORCH_FUNCTION_REPORT_V3, NULL))
		assert_true(i++ < 3000);
}

static void without_backward_pass_there_is_no_pause(void **state)
{
	(void)state;
	loader.present = VT_TORCH_EVALUATE;
	loader.beside = &loader;
	for (unsigned int i = 0; i < 1000; i++)
		assert_null(vt_torch_real_find(VT_TORCH_FUNCTION_EVALUATE, &here));
	assert_ptr_equal(vt_torch_real_find(VT_TORCH_FUNCTION_EVALUATE, &loader), &here);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_was_prepared_is_not_searched, start),
		cmocka_unit_test_setup(what_is_missing_is_searched_now_and_then, start),
		cmocka_unit_test_setup(what_comes_later_is_found, start),
		cmocka_unit_test_setup(without_backward_pass_there_is_no_pause, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
