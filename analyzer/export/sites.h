/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EXPORT_SITES_H
#define VT_ANALYZER_EXPORT_SITES_H

/*
 * What is live at a moment, added up by stack, owner or module, as viewers of profiles have it:
 * each row a path of frames, from the leaf to the root.
 *
 * By stack they are the lines of the program that `vtrace report` shows, below them "[backward]"
 * where the stack is that of the forward call; by owner the parts of the owner's path, by module
 * those of the module's with the owner below.
 */

#include <stdint.h>

#include "analyzer/base/map.h"
#include "analyzer/export/writers.h"

struct vt_export_frame {
	char *name;
	char *file; /* "" where there is none, and line 0 */
	uint32_t line;
};

struct vt_export_site {
	uint32_t *frames; /* numbers, the leaf first */
	uint32_t nr_frames;
	int device;
	const char *owner; /* borrowed */
	const char *stage; /* when it was made; "" where that is not known */
	uint64_t bytes;
	uint32_t blocks;
};

struct vt_export_sites {
	VT_VECTOR(struct vt_export_frame) frames;
	VT_VECTOR(struct vt_export_site) sites; /* in the order of the first block of each */
	struct vt_map known_frames;
	struct vt_map known_sites;
};

void vt_export_sites_init(struct vt_export_sites *sites, struct vt_writer_job *job);
void vt_export_sites_release(struct vt_export_sites *sites);

#endif
