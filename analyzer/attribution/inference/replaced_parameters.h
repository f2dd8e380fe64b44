/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPLACED_PARAMETERS_H
#define VT_ANALYZER_REPLACED_PARAMETERS_H

/*
 * Parameters whose data the program replaces (p.data = ..., as averages of weights do and steps by
 * hand), of which a probe sees a few.  Where a line frees what a parameter was, and the last block
 * that this line or what it called made is as large, this block is the parameter from there on.
 */

#include "analyzer/attribution/inference/facts.h"

/* Fills facts->replaced. */
void vt_replaced_parameters_find(struct vt_facts *facts);

#endif
