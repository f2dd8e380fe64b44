/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_CONFIG_H
#define VT_PRELOAD_CONFIG_H

/*
 * The recorder's options (common/recorder_options.h), read once from the environment when a
 * recording opens, so that a program may still set them itself.  Variables VTRACE_* that are not in
 * the table belong to others (the simulator, vtrace run) and are ignored.
 */

#include <stdint.h>

#include "common/recorder_options.h"

struct vt_config {
#define VT_CONFIG_TEXT(field, variable, standard, what) const char *field;
#define VT_CONFIG_NUMBER(field, variable, standard, most, what) uint32_t field;
	VT_RECORDER_OPTIONS(VT_CONFIG_TEXT, VT_CONFIG_NUMBER)
#undef VT_CONFIG_TEXT
#undef VT_CONFIG_NUMBER
};

/* Reads the copy of the environment (environment.h); texts are borrowed from it. */
void vt_config_read(void);

/* The options in force: the defaults before vt_config_read. */
const struct vt_config *vt_config(void);

/* The first variable that vt_config_read found to be no number and ignored; NULL: none. */
const char *vt_config_wrong(void);

#endif
