/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/allocation_sites.h"

#include <fnmatch.h>
#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/model/describe.h"

/* An own function that was seen asking for memory, and one that called it. */
struct vt_allocation_site_caller {
	const char *function;
	const char *caller;
};

/* Objects through which everybody's requests go. */
static const char *const plumbing[] = {
	"libcuda.so*",	"libcudart*",  "libvtrace*",  "libc.so*",      "libc-*.so",   "libpthread*",
	"libdl.so*",	"ld-linux*",   "libstdc++*",  "libgcc_s*",     "libffi*",     "_ctypes*",
	"libpython*",	"python[0-9]*", "[[]vdso[]]", "?",
};

static int is_plumbing(const char *library)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(plumbing); i++)
		if (fnmatch(plumbing[i], library, 0) == 0)
			return 1;
	return 0;
}

void vt_allocation_sites_init(struct vt_allocation_sites *places, const struct vt_model *model)
{
	char *path = vt_db_run_get(model->db, "executable");
	const char *slash = path ? strrchr(path, '/') : NULL;

	memset(places, 0, sizeof(*places));
	places->model = model;
	places->executable = path ? vt_xstrdup(slash ? slash + 1 : path) : NULL;
	free(path);
}

void vt_allocation_sites_release(struct vt_allocation_sites *places)
{
	free(places->executable);
	free(places->callers);
	memset(places, 0, sizeof(*places));
}

/* Where the recording does not name the executable: what is no shared library. */
static int is_executable(const struct vt_allocation_sites *places, const char *library)
{
	if (is_plumbing(library))
		return 0;
	return places->executable ? !strcmp(library, places->executable) : !strstr(library, ".so");
}

/* Symbols of the executable's own frames, innermost first; returns how many. */
static unsigned own_functions(const struct vt_allocation_sites *places, uint32_t stack,
			      const char **out)
{
	const struct vt_frames *frames = &places->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_native(frames, stack, ids), kept = 0;

	for (unsigned i = 0; i < nr; i++) {
		const char *symbol = frames->native[ids[i]].symbol;

		/* What stands before main in every program. */
		if (symbol && strcmp(symbol, "_start") != 0 &&
		    is_executable(places, vt_frames_library(frames, ids[i])))
			out[kept++] = symbol;
	}
	return kept;
}

static int compare_callers(const void *a, const void *b)
{
	const struct vt_allocation_site_caller *x = a, *y = b;
	int order = strcmp(x->function, y->function);

	return order ? order : strcmp(x->caller, y->caller);
}

static void find_callers(struct vt_allocation_sites *places)
{
	const struct vt_frame_tree *tree = &places->model->frames.native_tree;
	const char *functions[VT_FRAMES_MAX];

	places->has_callers = 1;
	places->callers = vt_xcalloc(tree->nr_stacks + 1, sizeof(*places->callers));
	for (uint32_t stack = 0; stack < tree->nr_stacks; stack++)
		if (own_functions(places, stack, functions) > 1)
			places->callers[places->nr_callers++] =
				(struct vt_allocation_site_caller){ functions[0], functions[1] };
	places->nr_callers = (uint32_t)vt_group(places->callers, places->nr_callers,
						compare_callers, NULL);
}

static int has_several_callers(struct vt_allocation_sites *places, const char *function)
{
	uint32_t nr = 0;

	if (!places->has_callers)
		find_callers(places);
	for (uint32_t i = 0; i < places->nr_callers; i++)
		nr += strcmp(places->callers[i].function, function) == 0;
	return nr > 1;
}

static int is_allocator(const char *symbol)
{
	return fnmatch("*alloc*", symbol, FNM_CASEFOLD) == 0 || strstr(symbol, "operator new");
}

/* P2 */
static char *own_place(struct vt_allocation_sites *places, uint32_t stack)
{
	const char *functions[VT_FRAMES_MAX];
	unsigned nr = own_functions(places, stack, functions), i = 0;
	static const char unnamed[] = "(anonymous namespace)::";
	char *name, *owner, *slash;
	const char *start;

	if (!nr)
		return NULL;
	if (nr > 1 && has_several_callers(places, functions[0]))
		i++;
	while (i + 1 < nr && is_allocator(functions[i]))
		i++;
	name = vt_describe_symbol(functions[i]);
	/* Go's names have paths in them, and a slash would be another level. */
	slash = strrchr(name, '/');
	start = slash ? slash + 1 : name;
	if (strncmp(start, unnamed, strlen(unnamed)) == 0)
		start += strlen(unnamed);
	owner = vt_xasprintf("user/%s", start);
	free(name);
	return owner;
}

/* P3; "libavutil.so.57" is avutil. */
static char *library_place(const struct vt_allocation_sites *places, uint32_t stack)
{
	const struct vt_frames *frames = &places->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_native(frames, stack, ids);

	for (unsigned i = 0; i < nr; i++) {
		const char *name = vt_frames_library(frames, ids[i]);

		if (is_plumbing(name))
			continue;
		/* It has no symbols. */
		if (is_executable(places, name))
			return vt_xasprintf("user/%s", name);
		name += strncmp(name, "lib", 3) == 0 ? 3 : 0;
		return vt_xasprintf("library/%.*s", (int)strcspn(name, ".-"), name);
	}
	return NULL;
}

/* The code of a file outside of functions is called by the file's name. */
static char *python_name(const struct vt_code *code)
{
	const char *slash = strrchr(code->file, '/');
	const char *file = slash ? slash + 1 : code->file;

	if (strcmp(code->short_name, "<module>") != 0)
		return vt_xasprintf("user/%s", code->short_name);
	return vt_xasprintf("user/%.*s", (int)strcspn(file, "."), file);
}

/* P1 */
static char *python_place(const struct vt_allocation_sites *places, uint32_t stack)
{
	const struct vt_frames *frames = &places->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, stack, ids);
	const struct vt_code *own = NULL;
	const char *package = NULL;

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_code *code = vt_frames_code(frames, ids[i]);
		const char *inner = vt_describe_package(code->file);

		if (inner && !package)
			package = inner;
		if (inner || vt_describe_is_framework(code->file))
			continue;
		own = code;
		if (!is_allocator(code->short_name))
			break;
	}
	if (own)
		return python_name(own);
	return package ? vt_xasprintf("library/%.*s", (int)strcspn(package, "/."), package) : NULL;
}

char *vt_allocation_sites_find(struct vt_allocation_sites *places, const struct vt_allocation *a)
{
	char *owner = python_place(places, a->common->made->python_stack);

	if (!owner)
		owner = own_place(places, a->common->made->native_stack);
	if (!owner)
		owner = library_place(places, a->common->made->native_stack);
	return owner;
}
