/* SPDX-License-Identifier: MIT */
/*
 * The locks and signal masks of the libunwind inside us, which the linker turns to these functions
 * (--wrap).  libunwind takes a lock when a thread ends, in the destructor of a thread key.
 * Libraries that override pthread_mutex_lock may be done with that thread by then: with
 * ThreadSanitizer every thread that had called a hook died there.  So no function of the C library
 * that somebody could override.
 *
 * A lock is the first word of the mutex, which starts as 0: free, taken, or taken and waited for.
 */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "preload/sys.h"

enum { FREE = 0, TAKEN, CONTENDED };

int vt_unwind_locks_take(pthread_mutex_t *mutex) __asm__("__wrap_pthread_mutex_lock");
int vt_unwind_locks_take(pthread_mutex_t *mutex)
{
	uint32_t *word = (uint32_t *)mutex;
	uint32_t state = FREE;

	if (__atomic_compare_exchange_n(word, &state, TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return 0;
	while (__atomic_exchange_n(word, CONTENDED, __ATOMIC_ACQUIRE) != FREE)
		vt_sys_wait(word, CONTENDED);
	return 0;
}

int vt_unwind_locks_give(pthread_mutex_t *mutex) __asm__("__wrap_pthread_mutex_unlock");
int vt_unwind_locks_give(pthread_mutex_t *mutex)
{
	uint32_t *word = (uint32_t *)mutex;

	if (__atomic_exchange_n(word, FREE, __ATOMIC_RELEASE) == CONTENDED)
		vt_sys_wake(word);
	return 0;
}

int vt_unwind_locks_mask(int how, const sigset_t *new, sigset_t *old)
	__asm__("__wrap_pthread_sigmask");
int vt_unwind_locks_mask(int how, const sigset_t *new, sigset_t *old)
{
	return vt_sys_mask_signals(how, new, old);
}
