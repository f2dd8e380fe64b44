/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RELOCATION_H
#define VT_ANALYZER_RELOCATION_H

/*
 * Blocks that are made at another place than in the base, though nothing else of them changed: the
 * line was split, its code put into a function, or called through another one.  Blocks that have a
 * counterpart where they are stay there; of the others those of the base that are the same by
 * operator, module, owner and bytes get the place of their counterpart.
 */

#include <stddef.h>
#include <stdint.h>

struct vt_changes_block;

struct vt_entry {
	uint64_t place;
	uint64_t functions; /* the place without its lines */
	uint64_t line;      /* the innermost alone */
	/* What it is, wherever it was made. */
	uint64_t kind;   /* operator, module and owner */
	uint64_t part;   /* module and owner */
	uint64_t bytes;  /* that were asked for: a block may be larger */
	uint32_t order;      /* of its making */
	uint8_t side;        /* enum of alignment.h */
	uint8_t has_module;  /* it is known: then few blocks are of that kind */
	uint8_t is_foreign;  /* a function of its stack has no blocks in the other run */
	uint8_t is_settled;
	uint8_t is_taken;    /* the caller's */
	uint8_t is_moved;    /* out: of the base, and got the place of another function */
	const struct vt_changes_block *block;      /* the caller's */
	const struct vt_changes_block *moved_with; /* out: the counterpart of a moved one */
};

/* Sorts the entries. */
void vt_relocation_find(struct vt_entry *entries, size_t nr);

#endif
