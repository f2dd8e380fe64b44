/* SPDX-License-Identifier: MIT */
#ifndef VTS_STUB_SET_H
#define VTS_STUB_SET_H

/*
 * The imports of a client, grouped by the library that must serve them: what stub libraries are
 * made of. Out of memory ends the program (this is a short-lived tool).
 */

#include <stddef.h>
#include <stdint.h>

/* One imported name. */
struct vts_stub_symbol {
	char *name;
	int node;      /* index into the library's nodes, -1 for an unversioned import */
	int is_object; /* data rather than a function */
};

/* One NVIDIA library that the client links. */
struct vts_stub_library {
	char *soname;
	char *version; /* the release that the client's package asks for, NULL if unknown */
	char **nodes;  /* version nodes */
	size_t nr_nodes;
	struct vts_stub_symbol *symbols;
	size_t nr_symbols;
	int is_ours; /* served by a library of the simulator, not by a stub (driver, runtime) */
};

struct vts_stub_set {
	struct vts_stub_library *libraries;
	size_t nr_libraries;
};

/* True for the soname of a library that the simulator stands in for. */
int vts_stub_set_is_served(const char *soname);

/* The library of that soname, made if needed; the pointer is good until the next add. */
struct vts_stub_library *vts_stub_set_add_library(struct vts_stub_set *set, const char *soname);

/* Adds a name with its version node (NULL: none); a name that is there already is left alone. */
void vts_stub_set_add_symbol(struct vts_stub_library *library, const char *name, const char *node,
			     int is_object);

/*
 * Adds an unversioned name to the library of the set whose names begin like it; names of other
 * families are not ours and ignored.
 */
void vts_stub_set_add_unversioned(struct vts_stub_set *set, const char *name, int is_object);

/* Sorts libraries and names, so that the order of files on disk does not matter. */
void vts_stub_set_sort(struct vts_stub_set *set);

/* A hash of everything in a sorted set. */
uint64_t vts_stub_set_hash(const struct vts_stub_set *set);

void vts_stub_set_release(struct vts_stub_set *set);

#endif
