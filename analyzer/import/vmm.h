/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_VMM_H
#define VT_ANALYZER_VMM_H

/*
 * The lifetime of physical memory behind cuMemCreate handles: it is there as long as a reference to
 * the handle or a mapping of it is.  Pure state, no database: the caller says what happened and is
 * given what died.
 */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/map.h"
#include "analyzer/base/util.h"

/* Whether a kind's addresses are handles of this sort. */
int vt_vmm_is_kind(unsigned int kind);

struct vt_vmm_mapping {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t handle;
};

VT_VECTOR_DECLARE(vt_vmm_mappings, struct vt_vmm_mapping);

struct vt_vmm {
	struct vt_map handles;           /* handle -> references << 32 | mappings */
	struct vt_vmm_mappings mappings; /* ascending by address */
};

void vt_vmm_release(struct vt_vmm *vmm);

/*
 * A new handle with one reference; whatever was known of an equal one is forgotten, its mappings
 * too.
 */
void vt_vmm_create(struct vt_vmm *vmm, uint64_t handle);
void vt_vmm_add_reference(struct vt_vmm *vmm, uint64_t handle);
/* Returns 1 if the memory behind the handle died with this reference. */
int vt_vmm_drop_reference(struct vt_vmm *vmm, uint64_t handle);

/*
 * Mappings that are there already are taken out first (their unmap was lost) and appended to
 * `removed`.
 */
void vt_vmm_add_mapping(struct vt_vmm *vmm, const struct vt_vmm_mapping *mapping,
			struct vt_vmm_mappings *removed);
/* Takes the mappings that start in [address, address + size) out and appends them to `removed`. */
void vt_vmm_remove_mappings(struct vt_vmm *vmm, uint64_t address, uint64_t size_bytes,
			    struct vt_vmm_mappings *removed);

/* Whether something still holds the memory. */
int vt_vmm_is_held(const struct vt_vmm *vmm, uint64_t handle);

#endif
