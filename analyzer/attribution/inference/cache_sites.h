/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CACHE_SITES_H
#define VT_ANALYZER_CACHE_SITES_H

/*
 * A loop that serves many requests in turn hands no cache from one call to the next, and a probe
 * sees its caches only now and then.  But what a line of a module made once for a cache, it makes
 * for caches: of the blocks of one place those that outlive their call are what one of them is by
 * its name.
 */

#include "analyzer/attribution/inference/facts.h"

/* Fills facts->as_cache. */
void vt_cache_sites_find(struct vt_facts *facts);

#endif
