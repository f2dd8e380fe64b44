/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PROBE_RECORDS_H
#define VT_PRELOAD_PROBE_RECORDS_H

/*
 * What a probe writes: tensors and modules, each once as long as it stays true (probe_known.h),
 * and at its end itself.
 *
 * Context: journal open, the thread of the probe.  Texts are UTF-8 and borrowed.
 */

#include <stddef.h>
#include <stdint.h>

struct vt_probe_text {
	const char *bytes;
	size_t len;
};

struct vt_probe_tensor {
	uint64_t address;	/* of the storage */
	uint64_t size_bytes;
	int32_t device;
	uint32_t role;		/* enum vt_role */
	uint32_t flags;		/* enum vt_tensor_flag */
	struct vt_probe_text name, holder, dtype, shape;
};

struct vt_probe_module {
	uint64_t address;
	uint64_t root_address;
	struct vt_probe_text class_name, name, holder;
};

/* The number of the probe that begins, from 1 in each recording, or -ENOMEM. */
int vt_probe_records_begin(void);

/* Whether the journal has it already; looks at address, role, name and holder only. */
int vt_probe_records_has_tensor(const struct vt_probe_tensor *tensor);
void vt_probe_records_tensor(const struct vt_probe_tensor *tensor);

/*
 * Whether that storage was asked for at an earlier probe.  Addresses that share their bit of
 * probe_known.h with a freed one answer no, and one that was freed and given out again two probes
 * ago may answer yes.
 */
int vt_probe_records_was_seen(uint64_t address);

/* Does nothing where the journal has it already. */
void vt_probe_records_module(const struct vt_probe_module *module);

/* Whether the journal says something of that kind about a file. */
int vt_probe_records_has_source(uint32_t kind, const struct vt_probe_text *file);

/*
 * What the program knows of a file of code that it made itself (enum vt_source_text).  Does nothing
 * where the journal says that already; of a text that fits no record only the beginning is written.
 */
void vt_probe_records_source(uint32_t kind, const struct vt_probe_text *file,
			     const struct vt_probe_text *text);

/* Writes the probe's own record; `reason` is a literal. */
void vt_probe_records_end(uint64_t start_ns, uint64_t duration_ns, const char *reason);

#endif
