/* SPDX-License-Identifier: MIT */
/*
 * A library that is opened with RTLD_DEEPBIND finds what it needs in itself and in the libraries
 * that it depends on before it looks where everybody else does, so preloaded functions do not stand
 * in front of it: its dlsym is libc's, and a driver that it is linked to is called as it is (Taichi
 * opens itself so).  Its calls are led to us where they leave it, in the tables of addresses that
 * the loader filled in: the ones of dlsym, and those of hooked functions of the driver.
 *
 * Done at the first dlsym of the thread that opened it, which is how a plugin's entry is found.  By
 * then the loader is through with the library; its constructors have run and are not seen.  Only
 * objects that came since are looked at.
 */
#include "preload/loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "preload/real.h"
#include "preload/sys.h"

#if defined(__x86_64__)
#define IS_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#error "which relocations are addresses of functions?"
#endif

_Thread_local uint32_t vt_loader_nr_before;

struct search {
	uint32_t nr_before;	/* objects that were there before */
	uint32_t nr_seen;
	/* No other library overrides libc's dlsym: what is not bound yet would be ours. */
	int is_ours_first;
	const void *libc_dlsym;
};

/* What the loader reads of one object. */
struct object {
	const ElfW(Sym) *symbols;
	const char *names;
	const ElfW(Rela) *relocations[2];
	size_t nr_relocations[2];
	uintptr_t base;
	uintptr_t start;
	uintptr_t end;
	const ElfW(Phdr) *read_only;	/* once it is relocated; NULL: nothing */
};

static int count(struct dl_phdr_info *info, size_t size, void *nr)
{
	(void)info;
	(void)size;
	++*(uint32_t *)nr;
	return 0;
}

vt_real_dlopen_fn vt_loader_dlopen(int is_deep)
{
	int saved = errno;

	if (is_deep) {
		vt_loader_nr_before = 0;
		dl_iterate_phdr(count, &vt_loader_nr_before);
	}
	errno = saved;
	return vt_real_init_dlopen();
}

static void read_dynamic(struct object *object, const ElfW(Dyn) *entry)
{
	for (; entry->d_tag != DT_NULL; entry++) {
		/* glibc has made these addresses of what were offsets. */
		const void *table = (const void *)entry->d_un.d_ptr;

		switch (entry->d_tag) {
		case DT_SYMTAB: object->symbols = table; break;
		case DT_STRTAB: object->names = table; break;
		case DT_JMPREL: object->relocations[0] = table; break;
		case DT_RELA: object->relocations[1] = table; break;
		case DT_PLTRELSZ:
			object->nr_relocations[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_RELASZ:
			object->nr_relocations[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		default: break;
		}
	}
}

static int is_inside(const struct object *object, const void *address)
{
	return (uintptr_t)address >= object->start && (uintptr_t)address < object->end;
}

static void read_object(struct object *object, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dynamic = NULL;

	object->base = info->dlpi_addr;
	object->start = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)at;
		if (segment->p_type == PT_GNU_RELRO)
			object->read_only = segment;
		if (segment->p_type != PT_LOAD)
			continue;
		if (at < object->start)
			object->start = at;
		if (at + segment->p_memsz > object->end)
			object->end = at + segment->p_memsz;
	}
	if (dynamic)
		read_dynamic(object, dynamic);
}

/* What a slot that holds `value` is to hold, or NULL if that is right as it is. */
static void *substitute(const struct search *search, const struct object *object,
			const ElfW(Sym) *symbol, const void *value)
{
	const char *name = object->names + symbol->st_name;
	/* Lazy binding: it leads into the object's own table, which asks the loader. */
	int is_unbound = search->is_ours_first && symbol->st_shndx == SHN_UNDEF &&
			 is_inside(object, value);

	if (strcmp(name, "dlsym") == 0)
		return value == search->libc_dlsym || is_unbound ? (void *)dlsym : NULL;
	if (strncmp(name, "cu", 2) != 0)
		return NULL;
	return is_unbound ? vt_loader_hook_of_name(name) : vt_loader_hook(value);
}

/*
 * What was read-only stays writable afterwards: another thread's loader may be about to write
 * there.
 */
static void exchange(const struct object *object, void **slot, void *value)
{
	const ElfW(Phdr) *segment = object->read_only;
	uintptr_t start = segment ? object->base + segment->p_vaddr : 0;
	uintptr_t page = (uintptr_t)slot & ~(uintptr_t)4095;

	if (segment && (uintptr_t)slot >= start && (uintptr_t)slot < start + segment->p_memsz)
		vt_sys_allow((void *)page, 4096);
	/* Whole, as another thread may be calling what is there. */
	if (vt_sys_is_writable(slot))
		__atomic_store_n(slot, value, __ATOMIC_RELEASE);
}

static int bind_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search *search = argument;
	struct object object = { 0 };

	(void)size;
	if (search->nr_seen++ < search->nr_before)
		return 0;
	read_object(&object, info);
	if (!object.symbols || !object.names || !is_inside(&object, object.symbols) ||
	    vt_real_is_driver_name(info->dlpi_name))
		return 0;
	for (int table = 0; table < 2; table++) {
		const ElfW(Rela) *relocation = object.relocations[table];

		for (size_t i = object.nr_relocations[table]; relocation && i; i--, relocation++) {
			void **slot = (void **)(object.base + relocation->r_offset);
			void *ours;

			if (!IS_SLOT(ELF64_R_TYPE(relocation->r_info)))
				continue;
			ours = substitute(search, &object,
					  &object.symbols[ELF64_R_SYM(relocation->r_info)], *slot);
			if (ours)
				exchange(&object, slot, ours);
		}
	}
	return 0;
}

void vt_loader_bind_deep(void)
{
	struct search search = { .nr_before = vt_loader_nr_before };
	int saved = errno;

	/* What follows asks for symbols itself. */
	vt_loader_nr_before = 0;
	/* With the loader's lock held nothing can be learnt of the driver any more. */
	vt_real_route(vt_real_symbol_in("libcuda.so", "cuMemAlloc_v2"));
	search.libc_dlsym = (const void *)vt_real_libc_dlsym();
	search.is_ours_first = vt_real_symbol_global("dlsym") == (const void *)dlsym;
	dl_iterate_phdr(bind_object, &search);
	errno = saved;
}
