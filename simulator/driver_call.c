/* SPDX-License-Identifier: MIT */
#include "simulator/driver_call.h"

#include "simulator/driver_fault.h"
#include "simulator/driver_guard.h"
#include "simulator/driver_ledger.h"
#include "simulator/driver_scope.h"

#include <pthread.h>
#include <stdatomic.h>

enum init_state { FRESH, READY, FORKED };

static struct {
	pthread_mutex_t lock;
	_Atomic int state; /* enum init_state */
} g = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void before_fork(void)
{
	pthread_mutex_lock(&g.lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&g.lock);
}

/* A real driver is unusable in the child of an initialised parent: calls, cuInit too, answer 3. */
static void after_fork_child(void)
{
	pthread_mutex_init(&g.lock, NULL);
	g.state = FORKED;
}

CUresult vts_call_set_initialised(void)
{
	if (g.state == FORKED)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (g.state == FRESH)
		pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	g.state = READY;
	return CUDA_SUCCESS;
}

static CUresult check_needs(unsigned int needs)
{
	CUresult result = CUDA_SUCCESS;

	if ((needs & VTS_NEEDS_INIT) && g.state != READY)
		return CUDA_ERROR_NOT_INITIALIZED;
	if ((needs & VTS_NEEDS_CONTEXT) == VTS_NEEDS_CONTEXT)
		result = vts_scope_check();
	if (!result && (needs & VTS_UNSAFE_IN_CAPTURE))
		result = vts_guard_check_unsafe();
	return result;
}

CUresult vts_call_enter(const char *function, unsigned int needs, uint64_t size_bytes)
{
	CUresult result = vts_fault_check(function, size_bytes);

	if (result)
		return result;
	pthread_mutex_lock(&g.lock);
	vts_ledger_set_function(function);
	result = check_needs(needs);
	if (result)
		pthread_mutex_unlock(&g.lock);
	return result;
}

CUresult vts_call_leave(CUresult result)
{
	pthread_mutex_unlock(&g.lock);
	return result;
}
