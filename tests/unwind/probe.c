/* SPDX-License-Identifier: MIT */
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "probe.h"

int probe_backtrace(void **addresses, int max)
{
	return unw_backtrace(addresses, max);
}

void probe_flush(void)
{
	unw_flush_cache(unw_local_addr_space, 0, 0);
}
