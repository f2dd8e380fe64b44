/* SPDX-License-Identifier: MIT */
#include "stub_set.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURE = 3 };

/*
 * The families: file stem (before ".so"), and how the names of an unversioned library begin.
 * Libraries with version nodes need no prefix: the importer says where each name belongs.  cuBLAS
 * has nodes, but the wheels of PyTorch 1.13 import from the cuBLASLt behind it, which they do not
 * name.
 */
struct family {
	const char *stem;
	const char *prefix;
	int is_ours;
};

static const struct family families[] = {
	{"libcuda", NULL, 1},       {"libcudart", NULL, 1},    {"libcublas", "cublas", 0},
	{"libcublasLt", NULL, 0},   {"libcudnn", NULL, 0},     {"libcudss", "cudss", 0},
	{"libcufft", NULL, 0},      {"libcufftw", NULL, 0},    {"libcufile", "cuFile", 0},
	{"libcupti", NULL, 0},      {"libcurand", NULL, 0},    {"libcusolver", NULL, 0},
	{"libcusolverMg", NULL, 0}, {"libcusparse", NULL, 0},  {"libcusparseLt", "cusparseLt", 0},
	{"libnccl", "nccl", 0},     {"libnvJitLink", NULL, 0}, {"libnvToolsExt", "nvtx", 0},
	{"libnvjpeg", NULL, 0},     {"libnvrtc", NULL, 0},     {"libnvshmem_host", "nvshmem", 0},
};

static const struct family *family_of(const char *soname)
{
	size_t i, len;

	for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		len = strlen(families[i].stem);
		if (!strncmp(soname, families[i].stem, len) && !strncmp(soname + len, ".so", 3))
			return &families[i];
	}
	return NULL;
}

int vts_stub_set_is_served(const char *soname)
{
	return family_of(soname) != NULL;
}

static void *grow(void *array, size_t nr, size_t size)
{
	/* Room is doubled at every power of two. */
	if (nr & (nr - 1))
		return array;
	array = reallocarray(array, nr ? nr * 2 : 1, size);
	if (!array)
		err(FAILURE, "simulator stubs");
	return array;
}

static char *copy_text(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		err(FAILURE, "simulator stubs");
	return copy;
}

struct vts_stub_library *vts_stub_set_add_library(struct vts_stub_set *set, const char *soname)
{
	struct vts_stub_library *library;
	size_t i;

	for (i = 0; i < set->nr_libraries; i++)
		if (!strcmp(set->libraries[i].soname, soname))
			return &set->libraries[i];
	set->libraries = grow(set->libraries, set->nr_libraries, sizeof(*library));
	library = &set->libraries[set->nr_libraries++];
	memset(library, 0, sizeof(*library));
	library->soname = copy_text(soname);
	library->is_ours = family_of(soname)->is_ours;
	return library;
}

static int add_node(struct vts_stub_library *library, const char *node)
{
	size_t i;

	if (!node)
		return -1;
	for (i = 0; i < library->nr_nodes; i++)
		if (!strcmp(library->nodes[i], node))
			return (int)i;
	library->nodes = grow(library->nodes, library->nr_nodes, sizeof(*library->nodes));
	library->nodes[library->nr_nodes] = copy_text(node);
	return (int)library->nr_nodes++;
}

void vts_stub_set_add_symbol(struct vts_stub_library *library, const char *name, const char *node,
			     int is_object)
{
	int node_index = add_node(library, node);
	struct vts_stub_symbol *symbol;
	size_t i;

	for (i = 0; i < library->nr_symbols; i++)
		if (library->symbols[i].node == node_index &&
		    !strcmp(library->symbols[i].name, name))
			return;
	library->symbols = grow(library->symbols, library->nr_symbols, sizeof(*symbol));
	symbol = &library->symbols[library->nr_symbols++];
	symbol->name = copy_text(name);
	symbol->node = node_index;
	symbol->is_object = is_object;
}

void vts_stub_set_add_unversioned(struct vts_stub_set *set, const char *name, int is_object)
{
	const struct family *family;
	size_t i;

	for (i = 0; i < set->nr_libraries; i++) {
		family = family_of(set->libraries[i].soname);
		if (family->prefix && !strncmp(name, family->prefix, strlen(family->prefix))) {
			vts_stub_set_add_symbol(&set->libraries[i], name, NULL, is_object);
			return;
		}
	}
}

static int compare_symbols(const void *a, const void *b)
{
	const struct vts_stub_symbol *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->node - y->node;
}

static int compare_libraries(const void *a, const void *b)
{
	const struct vts_stub_library *x = a, *y = b;

	return strcmp(x->soname, y->soname);
}

void vts_stub_set_sort(struct vts_stub_set *set)
{
	struct vts_stub_library *library;
	size_t i;

	if (!set->nr_libraries)
		return;
	qsort(set->libraries, set->nr_libraries, sizeof(*set->libraries), compare_libraries);
	for (i = 0; i < set->nr_libraries; i++) {
		library = &set->libraries[i];
		if (library->nr_symbols)
			qsort(library->symbols, library->nr_symbols, sizeof(*library->symbols),
			      compare_symbols);
	}
}

/* FNV-1a over the text and its terminator. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	do {
		hash ^= (unsigned char)*text;
		hash *= 0x100000001b3u;
	} while (*text++);
	return hash;
}

uint64_t vts_stub_set_hash(const struct vts_stub_set *set)
{
	uint64_t hash = 0xcbf29ce484222325u;
	const struct vts_stub_library *library;
	const struct vts_stub_symbol *symbol;
	size_t i, j;

	for (i = 0; i < set->nr_libraries; i++) {
		library = &set->libraries[i];
		hash = hash_text(hash, library->soname);
		hash = hash_text(hash, library->version ? library->version : "");
		for (j = 0; j < library->nr_symbols; j++) {
			symbol = &library->symbols[j];
			hash = hash_text(hash, symbol->name);
			hash = hash_text(hash,
					 symbol->node < 0 ? "" : library->nodes[symbol->node]);
			hash = hash_text(hash, symbol->is_object ? "o" : "f");
		}
	}
	return hash;
}

static void release_library(struct vts_stub_library *library)
{
	size_t i;

	for (i = 0; i < library->nr_symbols; i++)
		free(library->symbols[i].name);
	for (i = 0; i < library->nr_nodes; i++)
		free(library->nodes[i]);
	free(library->symbols);
	free(library->nodes);
	free(library->soname);
	free(library->version);
}

void vts_stub_set_release(struct vts_stub_set *set)
{
	size_t i;

	for (i = 0; i < set->nr_libraries; i++)
		release_library(&set->libraries[i]);
	free(set->libraries);
	memset(set, 0, sizeof(*set));
}
