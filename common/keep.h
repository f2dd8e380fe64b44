/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_KEEP_H
#define VT_COMMON_KEEP_H

/*
 * How much of a recording's past is kept in full: `vtrace run --keep`, VTRACE_KEEP.  "2GiB" is the
 * most that database, its log and the journal may take together, "24h" how far back details go.
 */

#include <stdint.h>

struct vt_keep {
	uint64_t bytes;   /* 0: not limited */
	uint64_t time_ns; /* 0: not limited */
};

/* Below this the journal alone does not fit. */
#define VT_KEEP_LEAST_BYTES (64ull << 20)

#define VT_KEEP_EXAMPLES "a size of at least 64MiB (2GiB) or a time in min, h or d (24h)"

/* 0, or -1 for what is neither, with `keep` all 0. */
int vt_keep_parse(const char *text, struct vt_keep *keep);

/* Parts of `bytes`: the journal, the log of the database, its pages that are in use. */
uint64_t vt_keep_journal_bytes(const struct vt_keep *keep);
uint64_t vt_keep_log_bytes(const struct vt_keep *keep);
uint64_t vt_keep_database_bytes(const struct vt_keep *keep);

#endif
