/* SPDX-License-Identifier: MIT */
#include "preload/foreign_libc.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The tables by which a loader finds symbols. */
struct tables {
	const ElfW(Sym) *symbols;
	const char *names;
	const uint32_t *hash;
};

struct search {
	const char *name;
	void *address;
};

int vt_foreign_libc_is_in_use(void)
{
	return !dlvsym;
}

/* The entry of DT_HASH after which the number of symbols is; musl is linked with that table. */
#define NR_SYMBOLS 1

/* musl leaves the offsets of the file in place, glibc makes addresses of them. */
static const void *table_at(const struct dl_phdr_info *info, ElfW(Addr) value)
{
	return (const void *)(value < info->dlpi_addr ? info->dlpi_addr + value : value);
}

static struct tables read_tables(const struct dl_phdr_info *info, const ElfW(Dyn) *entry)
{
	struct tables tables = { 0 };

	for (; entry->d_tag != DT_NULL; entry++) {
		const void *table = table_at(info, entry->d_un.d_ptr);

		if (entry->d_tag == DT_SYMTAB)
			tables.symbols = table;
		else if (entry->d_tag == DT_STRTAB)
			tables.names = table;
		else if (entry->d_tag == DT_HASH)
			tables.hash = table;
	}
	return tables;
}

/* The dynamic section of the object that has the C library's functions; NULL: not this one. */
static const ElfW(Dyn) *dynamic_of_libc(const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dynamic = NULL;
	uintptr_t function = (uintptr_t)dl_iterate_phdr;
	int is_inside = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)at;
		is_inside |= segment->p_type == PT_LOAD && function >= at &&
			     function < at + segment->p_memsz;
	}
	return is_inside ? dynamic : NULL;
}

static int find(struct dl_phdr_info *info, size_t size, void *argument)
{
	const ElfW(Dyn) *dynamic = dynamic_of_libc(info);
	struct search *search = argument;
	struct tables tables;

	(void)size;
	if (!dynamic)
		return 0;
	tables = read_tables(info, dynamic);
	if (!tables.symbols || !tables.names || !tables.hash)
		return 1;
	for (uint32_t i = 0; i < tables.hash[NR_SYMBOLS]; i++) {
		const ElfW(Sym) *symbol = &tables.symbols[i];

		if (symbol->st_shndx == SHN_UNDEF ||
		    strcmp(tables.names + symbol->st_name, search->name) != 0)
			continue;
		search->address = (void *)(info->dlpi_addr + symbol->st_value);
		break;
	}
	return 1;
}

void *vt_foreign_libc_symbol(const char *name)
{
	struct search search = { name, NULL };

	dl_iterate_phdr(find, &search);
	return search.address;
}
