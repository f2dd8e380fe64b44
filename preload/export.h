/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_EXPORT_H
#define VT_PRELOAD_EXPORT_H

/*
 * Everything is hidden but what overrides somebody else's function; exports.map lists them
 * again.
 */
#define VT_EXPORT __attribute__((visibility("default")))

#endif
