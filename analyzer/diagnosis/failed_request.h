/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FAILED_REQUEST_H
#define VT_ANALYZER_FAILED_REQUEST_H

/*
 * What a failed request was for.  It never became an allocation, so no rule judges it: what the
 * same place in the program allocated before says it.
 */

#include "analyzer/model/describe.h"

/*
 * The index of the last allocation that the place of the request made: by the same native stack
 * where there is one, else by the same Python stack, else by the same lines of the program.
 * VT_NO_INDEX: the place made none before.
 */
uint32_t vt_failed_request_find_like(const struct vt_describe *describe,
				     const struct vt_out_of_memory *oom);

#endif
