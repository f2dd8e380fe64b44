/* SPDX-License-Identifier: MIT */
#ifndef VTS_VERBOSE_H
#define VTS_VERBOSE_H

#include <stdlib.h>

/* Whether functions that are not simulated are named: VTRACE_SIM_VERBOSE; not "", and not "0". */
static inline int vts_is_verbose(void)
{
	const char *value = getenv("VTRACE_SIM_VERBOSE");

	return value && *value && *value != '0';
}

#endif
