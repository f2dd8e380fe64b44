/* SPDX-License-Identifier: MIT */
/*
 * The rest of the runtime's public names: each says once (VTRACE_SIM_VERBOSE) that it was asked for
 * and answers "not supported", so that a client that only links them runs and one that needs them
 * is told.
 */
#include "log.h"
#include "runtime.h"

#define UNSUPPORTED(name)                                                                          \
	ENTRY(name, void)                                                                          \
	{                                                                                          \
		vts_log_once("not supported:", #name);                                             \
		return vts_error_set(VTS_NOT_SUPPORTED);                                           \
	}
#include "unsupported.def"
