/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_CLIENT_H
#define TESTS_CRASH_CLIENT_H

/*
 * What client.c keeps of its own calls, in a file that is mapped shared: whatever kills it, the
 * file has every call that had returned.
 */

#include <stdint.h>

#define LEDGER_MOST_CALLS 131072u

struct ledger_call {
	uint64_t address;
	uint64_t size_bytes;	/* 0: a free */
};

struct ledger_thread {
	uint64_t thread;	/* kernel thread id */
	uint64_t nr_calls;	/* that returned (atomic) */
	struct ledger_call calls[LEDGER_MOST_CALLS];
};

#endif
