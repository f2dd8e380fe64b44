/* SPDX-License-Identifier: MIT */
/*
 * All addresses are looked up together when CUDA's runtime asks for the driver's functions, or at
 * the first use of any of them: usually before threads compete for the locks of the dynamic loader
 * and of PyTorch's allocator, which one of the callers holds.
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

/* Uses between two searches for what was not found: 1, 2, 4, ... up to this. */
#define LONGEST_PAUSE 4096u

void *vt_torch_real_known[VT_TORCH_FUNCTION_COUNT];

static struct {
	uint32_t missed[VT_TORCH_FUNCTION_COUNT]; /* atomic: uses without it */
	uint32_t next[VT_TORCH_FUNCTION_COUNT]; /* atomic: search again when missed reaches this */
	int looked_up;                          /* atomic */
} g;

/* What libvtrace.so replaces another preloaded library may replace as well: it comes next. */
static int is_replaced(enum vt_torch_function function)
{
	return function == VT_TORCH_FUNCTION_REPORT_V1 || function == VT_TORCH_FUNCTION_REPORT_V2 ||
	       function == VT_TORCH_FUNCTION_REPORT_V3;
}

static void *look_up(enum vt_torch_function function, const void *caller)
{
	const char *symbol = functions[function].symbol;
	void *address = is_replaced(function) ? vt_real_symbol_next(symbol) : NULL;

	if (!address)
		address = vt_real_symbol_in(functions[function].library, symbol);
	/* A program that is linked to PyTorch has it in the global scope, under any file name. */
	if (!address)
		address = vt_real_symbol_next(symbol);
	if (!address && caller)
		address = vt_real_symbol_beside(caller, symbol);
	if (address)
		__atomic_store_n(&vt_torch_real_known[function], address, __ATOMIC_RELEASE);
	return address;
}

void vt_torch_real_prepare(void)
{
	if (__atomic_load_n(&g.looked_up, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&g.looked_up, 1, __ATOMIC_RELAXED))
		return;
	for (int i = 0; i < VT_TORCH_FUNCTION_COUNT; i++)
		look_up((enum vt_torch_function)i, NULL);
}

/* Whether to search this time.  Without evaluate_function there is no backward pass. */
static int is_due(enum vt_torch_function function)
{
	uint32_t missed = __atomic_fetch_add(&g.missed[function], 1, __ATOMIC_RELAXED);

	if (function == VT_TORCH_FUNCTION_EVALUATE)
		return 1;
	if (missed < __atomic_load_n(&g.next[function], __ATOMIC_RELAXED))
		return 0;
	__atomic_store_n(&g.next[function],
			 missed + (missed < LONGEST_PAUSE ? missed + 1 : LONGEST_PAUSE),
			 __ATOMIC_RELAXED);
	return 1;
}

void *vt_torch_real_search(enum vt_torch_function function, const void *caller)
{
	void *address;

	vt_torch_real_prepare();
	address = __atomic_load_n(&vt_torch_real_known[function], __ATOMIC_ACQUIRE);
	return address || !is_due(function) ? address : look_up(function, caller);
}
