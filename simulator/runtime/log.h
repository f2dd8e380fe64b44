/* SPDX-License-Identifier: MIT */
#ifndef VTS_RUNTIME_LOG_H
#define VTS_RUNTIME_LOG_H

/*
 * What the runtime cannot do, told under VTRACE_SIM_VERBOSE and never twice: "what" plus a name, on
 * stderr. The name must live as long as the process.  Thread-safe; silent once 512 different names
 * were told.
 */
void vts_log_once(const char *what, const char *name);

#endif
