/* SPDX-License-Identifier: MIT */
/*
 * All addresses are looked up together at the first use of any of them: usually before threads
 * compete for the locks of the dynamic loader and of PyTorch's allocator, which one of the callers
 * holds.
 */

#include "preload/torch_real.h"

#include <stddef.h>

#include "preload/real.h"

static const struct {
	const char *library;
	const char *symbol;
} functions[] = {
#define ROW(name, library) { library, VT_TORCH_##name },
	VT_TORCH_FUNCTIONS(ROW)
#undef ROW
};

static struct {
	void *address[VT_TORCH_FUNCTION_COUNT]; /* atomic; NULL = not found yet */
	int looked_up;				/* atomic */
} g;

static void *look_up(enum vt_torch_function function)
{
	void *address = vt_real_symbol_in(functions[function].library, functions[function].symbol);

	/* A program that is linked to PyTorch has it in the global scope, under any file name. */
	if (!address)
		address = vt_real_symbol_next(functions[function].symbol);
	if (address)
		__atomic_store_n(&g.address[function], address, __ATOMIC_RELEASE);
	return address;
}

void *vt_torch_real_find(enum vt_torch_function function)
{
	void *address = __atomic_load_n(&g.address[function], __ATOMIC_ACQUIRE);
	int i;

	if (address)
		return address;
	if (!__atomic_exchange_n(&g.looked_up, 1, __ATOMIC_RELAXED))
		for (i = 0; i < VT_TORCH_FUNCTION_COUNT; i++)
			look_up((enum vt_torch_function)i);
	return look_up(function);
}
