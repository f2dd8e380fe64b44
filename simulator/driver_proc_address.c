/* SPDX-License-Identifier: MIT */
/*
 * cuGetProcAddress: our own table of (name, version, per-thread) -> function, never dlsym, as the
 * real driver. Seen on a real driver 535: an unknown name answers success with a NULL function and
 * status 1, a version below the function's first one the same with status 2, a suffixed name
 * (cuMemAlloc_v2) is unknown, a version of the future is fine; the old four-argument form answers
 * 500 and leaves the pointer alone.
 */
#include "simulator/driver_call.h"
#include "simulator/driver_profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The functions that only say "not supported" have no prototype of their own. */
#define VTS_ABSENT(name, since, symbol) CUresult symbol(void);
#include "simulator/driver_absent.def"
#undef VTS_ABSENT

#define VTS_CALL(name, since, symbol)
#define VTS_TWIN(name, since, symbol, twin_since, suffix) VT_CUDA_TWIN(symbol, suffix);
#define VTS_OWN_TWIN(name, since, symbol, twin_since, suffix) VT_CUDA_TWIN(symbol, suffix);
#include "simulator/driver_functions.def"
#undef VTS_CALL
#undef VTS_TWIN
#undef VTS_OWN_TWIN

struct row {
	const char *name;
	int since;
	const char *symbol;
	void (*function)(void);
};

#define ROW(name, since, symbol) { #name, since, #symbol, (void (*)(void))(uintptr_t)symbol },
#define VTS_CALL(name, since, symbol) ROW(name, since, symbol)
#define VTS_TWIN(name, since, symbol, twin_since, suffix)                                          \
	ROW(name, since, symbol) ROW(name, twin_since, symbol##suffix)
#define VTS_OWN_TWIN(name, since, symbol, twin_since, suffix)                                      \
	VTS_TWIN(name, since, symbol, twin_since, suffix)
#define VTS_ABSENT(name, since, symbol) ROW(name, since, symbol)

static struct {
	pthread_once_t once;
	struct row rows[1024];
	size_t nr_rows;
} g = { .once = PTHREAD_ONCE_INIT };

static const struct row ROWS[] = {
#include "simulator/driver_functions.def"
#include "simulator/driver_absent.def"
};

static int is_per_thread(const struct row *row)
{
	size_t len = strlen(row->symbol);

	return len > 5 && (!strcmp(row->symbol + len - 5, "_ptsz") ||
			   !strcmp(row->symbol + len - 5, "_ptds"));
}

/* By name, then version, then a twin after its function: the last fitting row is the answer. */
static int compare(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	if (order)
		return order;
	if (left->since != right->since)
		return left->since < right->since ? -1 : 1;
	return is_per_thread(left) - is_per_thread(right);
}

_Static_assert(sizeof(ROWS) / sizeof(ROWS[0]) <= 1024, "room for the sorted copy");

/* What is newer than the profile's driver does not exist for the look-up. */
static void sort_rows(void)
{
	for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++)
		if (ROWS[i].since <= vts_profile_get()->driver_version)
			g.rows[g.nr_rows++] = ROWS[i];
	qsort(g.rows, g.nr_rows, sizeof(g.rows[0]), compare);
}

static size_t first_row(const char *name)
{
	size_t low = 0, high = g.nr_rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(g.rows[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int has_twin(const char *name)
{
	for (size_t i = first_row(name); i < g.nr_rows && !strcmp(g.rows[i].name, name); i++)
		if (is_per_thread(&g.rows[i]))
			return 1;
	return 0;
}

/*
 * With the flag of the per-thread default stream a function that has twins is not there before its
 * first twin (seen with driver 535).
 */
static CUdriverProcAddressQueryResult look_up(const char *name, int version, uint64_t flags,
					      void **function)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

	int needs_twin;

	pthread_once(&g.once, sort_rows);
	needs_twin = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && has_twin(name);
	for (size_t i = first_row(name); i < g.nr_rows && !strcmp(g.rows[i].name, name); i++) {
		if (status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND)
			status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		if (g.rows[i].since > version)
			break;
		if (is_per_thread(&g.rows[i]) &&
		    !(flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
			continue;
		if (needs_twin && !is_per_thread(&g.rows[i]))
			continue;
		*function = (void *)(uintptr_t)g.rows[i].function;
		status = CU_GET_PROC_ADDRESS_SUCCESS;
	}
	return status;
}

#define MAX_FLAGS CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
	void *found = NULL;

	VTS_ENTER(VTS_NEEDS_NOTHING);
	if (!name || !function || flags > MAX_FLAGS)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	if (look_up(name, version, flags, &found))
		return vts_call_leave(CUDA_ERROR_NOT_FOUND);
	*function = found;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult answer;

	VTS_ENTER(VTS_NEEDS_NOTHING);
	if (!name || !function || flags > MAX_FLAGS)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*function = NULL;
	answer = look_up(name, version, flags, function);
	if (status)
		*status = answer;
	return vts_call_leave(CUDA_SUCCESS);
}
