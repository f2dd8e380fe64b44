/* SPDX-License-Identifier: MIT */
/*
 * How a real address is learnt.  A look-up (dlsym, cuGetProcAddress) returned a pointer: the object
 * that holds it is asked, once, for the addresses of all functions in the table, and from then on
 * pointers are compared.  Nothing is decided by the name that was asked for, so a caller always
 * gets the ABI that it asked for (cuCtxCreate and cuCtxCreate_v4 share a base name and nothing
 * else).
 *
 * The first object that provides a function provides it for good.  A second driver in the process
 * is passed through unrecorded, because one hook can only call one real function.
 */
#include "preload/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "common/kinds.h"
#include "preload/foreign_libc.h"
#include "preload/sys.h"
#include "preload/text.h"

#define MOST_OBJECTS 16u
#define PATH_BYTES 4096u

struct object {
	uintptr_t start;
	uintptr_t end;		/* set last (atomic), 0 = not there yet */
};

static struct {
	void *address[VT_REAL_COUNT];	/* atomic, NULL = not learnt yet */
	struct object objects[MOST_OBJECTS];	/* already asked */
	uint32_t nr_objects;		/* atomic */
	vt_real_dlsym_fn libc_dlsym;	/* atomic */
	const char *own_path;		/* the loader's own text, or: */
	char absolute_path[PATH_BYTES];
} g;

vt_real_dlsym_fn vt_real_next_dlsym;
vt_real_dlopen_fn vt_real_next_dlopen;

/* The linker's own marks around this library. */
extern const char vt_own_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char vt_own_end[] __asm__("_end") __attribute__((visibility("hidden")));

static const struct vt_real_api apis[VT_REAL_COUNT] = {
#define VT_CUDA_API(id, name, version, kind, op) \
	[VT_REAL_##name] = { #name, id, VT_KIND_##kind, VT_OP_##op },
#define VT_FRAMEWORK_API(id, name, kind, op)
#include "common/cuda_api.def"
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API
#define ROW(name) [VT_REAL_##name] = { #name, 0, 0, 0 },
	VT_REAL_LOADERS(ROW)
	VT_REAL_QUERIES(ROW)
#undef ROW
};

const struct vt_real_api *vt_real_api(enum vt_real_function function)
{
	return &apis[function];
}

int vt_real_by_name(const char *name)
{
	for (int i = 0; i < VT_REAL_HOOKED; i++)
		if (strcmp(apis[i].name, name) == 0)
			return i;
	return -1;
}

int vt_real_is_own(const void *address)
{
	return (const char *)address >= vt_own_start && (const char *)address < vt_own_end;
}

/* In case there is no dlsym at all behind us (cannot happen with glibc): nothing is found. */
static void *find_nothing(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

/*
 * An error of the loader that the program has not asked for yet.  Every call of the loader forgets
 * it, so it is taken before ours and made again after them, by failing in the same way.
 */
struct pending_error {
	char text[512];
};

#define NO_SYMBOL ": undefined symbol: "

static void take_error(struct pending_error *error)
{
	const char *said = dlerror();
	struct vt_text text;

	vt_text_init(&text, error->text, sizeof(error->text));
	vt_text_add(&text, said ? said : "");
}

/* Whether `text` starts with that object's name as the loader writes it. */
static int is_error_of(const char *text, const char *object)
{
	size_t len = strlen(object);

	return strncmp(text, object, len) == 0 && strncmp(text + len, NO_SYMBOL, 2) == 0;
}

static const char *own_name(void)
{
	Dl_info info;

	return dladdr(vt_own_start, &info) && info.dli_fname ? info.dli_fname : "";
}

/*
 * Only what is certainly loaded is asked again: the program and this library.  Any other error
 * comes back as one of this library, with the whole text: an object may be gone, and a file that
 * could not be opened may be there by now, and its constructors would run in here.
 */
static void make_error_again(struct pending_error *error)
{
	vt_real_dlsym_fn look_up = g.libc_dlsym ? g.libc_dlsym : find_nothing;
	const char *symbol = strstr(error->text, NO_SYMBOL);

	if (symbol && is_error_of(error->text, program_invocation_name)) {
		look_up(dlopen(NULL, RTLD_LAZY), symbol + strlen(NO_SYMBOL));
	} else if (symbol && is_error_of(error->text, own_name())) {
		look_up(RTLD_DEFAULT, symbol + strlen(NO_SYMBOL));
	} else {
		look_up(RTLD_DEFAULT, error->text);
	}
}

/* Callers test dlerror() instead of the result; what we asked in vain is not theirs. */
static void give_error_back(struct pending_error *error)
{
	dlerror();
	if (error->text[0])
		make_error_again(error);
}

/*
 * libc's dlsym under the version it has: 2.34 moved it into libc, 2.17 and 2.2.5 are the first ones
 * of aarch64 and x86-64.  A version is needed: without one dlvsym would not exist as a way around
 * ourselves.
 */
vt_real_dlsym_fn vt_real_libc_dlsym(void)
{
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5" };
	vt_real_dlsym_fn found = __atomic_load_n(&g.libc_dlsym, __ATOMIC_ACQUIRE);
	struct pending_error error;
	void *address = NULL;

	if (found)
		return found;
	take_error(&error);
	if (vt_foreign_libc_is_in_use())
		address = vt_foreign_libc_symbol("dlsym");
	for (size_t i = 0; dlvsym && !address && i < sizeof(versions) / sizeof(versions[0]); i++)
		address = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	found = address ? (vt_real_dlsym_fn)address : find_nothing;
	__atomic_store_n(&g.libc_dlsym, found, __ATOMIC_RELEASE);
	give_error_back(&error);
	return found;
}

vt_real_dlsym_fn vt_real_init_dlsym(void)
{
	vt_real_dlsym_fn next = __atomic_load_n(&vt_real_next_dlsym, __ATOMIC_ACQUIRE);
	int saved = errno;
	void *address;

	if (next)
		return next;
	address = vt_real_libc_dlsym()(RTLD_NEXT, "dlsym");
	next = address ? (vt_real_dlsym_fn)address : vt_real_libc_dlsym();
	__atomic_store_n(&vt_real_next_dlsym, next, __ATOMIC_RELEASE);
	errno = saved;
	return next;
}

vt_real_dlopen_fn vt_real_init_dlopen(void)
{
	vt_real_dlopen_fn next = __atomic_load_n(&vt_real_next_dlopen, __ATOMIC_ACQUIRE);
	int saved = errno;

	if (!next) {
		next = (vt_real_dlopen_fn)vt_real_libc_dlsym()(RTLD_NEXT, "dlopen");
		/* Before glibc 2.34 in a separate library, which may be no global one. */
		if (!next)
			next = (vt_real_dlopen_fn)vt_real_symbol_in("libdl.so", "dlopen");
		__atomic_store_n(&vt_real_next_dlopen, next, __ATOMIC_RELEASE);
	}
	errno = saved;
	return next;
}

vt_real_exit_fn vt_real_next_exit(void)
{
	return (vt_real_exit_fn)vt_real_libc_dlsym()(RTLD_NEXT, "_exit");
}

/* Searching loaded objects. */
struct search {
	const void *address;	/* find the object that holds it, or NULL: */
	const char *prefix;	/* find the first whose file name starts so */
	int is_found;
	uintptr_t start;
	uintptr_t end;
	char name[PATH_BYTES];
};

static void object_range(const struct dl_phdr_info *info, uintptr_t *start, uintptr_t *end)
{
	*start = UINTPTR_MAX;
	*end = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		if (at < *start)
			*start = at;
		if (at + segment->p_memsz > *end)
			*end = at + segment->p_memsz;
	}
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int visit(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search *search = argument;
	struct vt_text name;
	uintptr_t start;
	uintptr_t end;

	(void)size;
	if (search->prefix &&
	    strncmp(file_name(info->dlpi_name), search->prefix, strlen(search->prefix)) != 0)
		return 0;
	object_range(info, &start, &end);
	if (search->address &&
	    ((uintptr_t)search->address < start || (uintptr_t)search->address >= end))
		return 0;
	search->start = start;
	search->end = end;
	vt_text_init(&name, search->name, sizeof(search->name));
	vt_text_add(&name, info->dlpi_name);
	search->is_found = !name.is_cut;
	return 1;
}

/* A handle of an object that is loaded, which from now on stays loaded. */
static void *pin(const char *path)
{
	return dlopen(path, RTLD_NOLOAD | RTLD_LAZY | RTLD_NODELETE);
}

static int is_asked(const void *address)
{
	uint32_t nr = __atomic_load_n(&g.nr_objects, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < nr && i < MOST_OBJECTS; i++) {
		uintptr_t end = __atomic_load_n(&g.objects[i].end, __ATOMIC_ACQUIRE);

		if ((uintptr_t)address < end && (uintptr_t)address >= g.objects[i].start)
			return 1;
	}
	return 0;
}

static void note_asked(const struct search *object)
{
	uint32_t at = __atomic_fetch_add(&g.nr_objects, 1, __ATOMIC_ACQ_REL);

	/* With the list full, further objects are asked again each time. */
	if (at >= MOST_OBJECTS) {
		__atomic_store_n(&g.nr_objects, MOST_OBJECTS, __ATOMIC_RELEASE);
		return;
	}
	g.objects[at].start = object->start;
	__atomic_store_n(&g.objects[at].end, object->end, __ATOMIC_RELEASE);
}

static void learn(enum vt_real_function function, void *address)
{
	void *unknown = NULL;

	__atomic_compare_exchange_n(&g.address[function], &unknown, address, 0, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
}

/*
 * Learns what the object that holds `address` provides.  Hooked functions only from the object
 * itself, not from those it depends on, which libc's dlsym searches too; a query may come from
 * there.
 */
static void ask_object_of(const void *address)
{
	struct search object = { .address = address };
	vt_real_dlsym_fn look_up = vt_real_libc_dlsym();
	struct pending_error error;
	void *handle;

	dl_iterate_phdr(visit, &object);
	if (!object.is_found)
		return;
	take_error(&error);
	handle = pin(object.name);
	for (int i = 0; handle && i < VT_REAL_COUNT; i++) {
		void *found = look_up(handle, apis[i].name);
		int is_inside = (uintptr_t)found >= object.start && (uintptr_t)found < object.end;

		if (found && !vt_real_is_own(found) && (is_inside || i >= VT_REAL_HOOKED))
			learn((enum vt_real_function)i, found);
	}
	note_asked(&object);
	give_error_back(&error);
}

int vt_real_known(const void *address)
{
	for (int i = 0; i < VT_REAL_HOOKED; i++)
		if (__atomic_load_n(&g.address[i], __ATOMIC_ACQUIRE) == address)
			return i;
	return -1;
}

int vt_real_route(const void *address)
{
	int saved = errno;
	int function;

	if (!address || vt_real_is_own(address))
		return -1;
	function = vt_real_known(address);
	if (function >= 0 || is_asked(address))
		return function;
	ask_object_of(address);
	errno = saved;
	return vt_real_known(address);
}

/*
 * For a caller that is linked to the driver: the next one in search order, else any driver that is
 * loaded.
 */
static void *resolve(enum vt_real_function function)
{
	void *address = vt_real_symbol_next(apis[function].name);

	if (!address)
		address = vt_real_symbol_in("libcuda.so", apis[function].name);
	if (!address || vt_real_is_own(address))
		return NULL;
	if (!is_asked(address))
		ask_object_of(address);
	learn(function, address);
	return __atomic_load_n(&g.address[function], __ATOMIC_ACQUIRE);
}

void *vt_real_find(enum vt_real_function function)
{
	void *address = __atomic_load_n(&g.address[function], __ATOMIC_ACQUIRE);
	int saved = errno;

	if (!address) {
		address = resolve(function);
		errno = saved;
	}
	return address;
}

int vt_real_is_known(enum vt_real_function function)
{
	return __atomic_load_n(&g.address[function], __ATOMIC_ACQUIRE) != NULL;
}

int vt_real_is_driver_name(const char *path)
{
	const char *name = file_name(path);

	return strncmp(name, "libcuda.so", 10) == 0 || strncmp(name, "libnvidia-", 10) == 0;
}

int vt_real_is_driver_caller(const void *address)
{
	struct search object = { .address = address };

	dl_iterate_phdr(visit, &object);
	return object.is_found && vt_real_is_driver_name(object.name);
}

/* In the object that is searched for, or in those that it needs. */
static void *symbol_of(struct search *object, const char *symbol)
{
	struct pending_error error;
	int saved = errno;
	void *address = NULL;
	void *handle;

	take_error(&error);
	dl_iterate_phdr(visit, object);
	/* The program itself has no name here, and is in the global scope. */
	handle = object->is_found && object->name[0] ? pin(object->name) : NULL;
	if (handle)
		address = vt_real_libc_dlsym()(handle, symbol);
	give_error_back(&error);
	errno = saved;
	return address && !vt_real_is_own(address) ? address : NULL;
}

void *vt_real_symbol_in(const char *prefix, const char *symbol)
{
	return symbol_of(&(struct search){ .prefix = prefix }, symbol);
}

void *vt_real_symbol_beside(const void *address, const char *symbol)
{
	return symbol_of(&(struct search){ .address = address }, symbol);
}

static void *symbol_from(void *place, const char *symbol)
{
	struct pending_error error;
	int saved = errno;
	void *address;

	take_error(&error);
	address = vt_real_libc_dlsym()(place, symbol);
	give_error_back(&error);
	errno = saved;
	return address;
}

void *vt_real_symbol_global(const char *symbol)
{
	return symbol_from(RTLD_DEFAULT, symbol);
}

void *vt_real_symbol_next(const char *symbol)
{
	return symbol_from(RTLD_NEXT, symbol);
}

const char *vt_real_own_path(void)
{
	char directory[PATH_BYTES];
	struct vt_text path;
	Dl_info info;

	if (g.own_path)
		return g.own_path;
	if (!dladdr(vt_own_start, &info) || !info.dli_fname)
		return "";
	if (info.dli_fname[0] == '/')
		return g.own_path = info.dli_fname;
	/*
	 * As it was given in LD_PRELOAD; the constructor asks before the program can change its
	 * directory.
	 */
	vt_text_init(&path, g.absolute_path, sizeof(g.absolute_path));
	if (vt_sys_getcwd(directory, sizeof(directory)) > 0) {
		vt_text_add(&path, directory);
		vt_text_add_char(&path, '/');
	}
	vt_text_add(&path, info.dli_fname);
	return g.own_path = path.is_cut ? "" : g.absolute_path;
}
