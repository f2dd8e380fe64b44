/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STAGING_H
#define VT_ANALYZER_STAGING_H

/*
 * Serving code makes its buffers in pairs: page-locked memory of the host, which the program
 * fills, and a tensor of the same size on the device, which it is copied to.  One call of one
 * function of the program makes both, one directly after the other.
 */

#include "analyzer/attribution/inference/facts.h"

/* Writes VT_SOURCE_HOST for the device's half of each pair; facts->derived is there. */
void vt_staging_find(struct vt_facts *facts);

#endif
