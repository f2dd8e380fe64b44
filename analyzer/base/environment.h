/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ENVIRONMENT_H
#define VT_ANALYZER_ENVIRONMENT_H

/* Puts `path` before what is in a list of paths separated by ':' (LD_PRELOAD, LD_LIBRARY_PATH). */
void vt_environment_prepend(const char *variable, const char *path);

#endif
