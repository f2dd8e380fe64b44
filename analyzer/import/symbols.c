/* SPDX-License-Identifier: MIT */
#include "analyzer/import/symbols.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

/* From libstdc++: the demangler of the Itanium C++ ABI. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *len, int *status);

struct function {
	uint64_t start;
	uint64_t size;
	const char *name; /* mangled, in the file's mapping; NULL: there is none */
};

/* An address, and the last function that starts at or before it. */
struct asked {
	uint64_t address;
	struct function function;
};

struct vt_symbols {
	int fd;
	Elf *elf;
	Dwarf *dwarf;                   /* NULL without debug information */
	VT_VECTOR(struct asked) asked;  /* ascending */
	size_t nr_functions;
	char *demangled; /* the demangler's own buffer, reused */
	size_t demangled_size;
};

static int has_build_id(Elf *elf, const char *wanted)
{
	char hex[2 * 64 + 1];
	const void *id;
	ssize_t len = dwelf_elf_gnu_build_id(elf, &id);

	/* Nothing to compare: the path is all there is. */
	if (!*wanted || len <= 0)
		return 1;
	vt_util_hex(hex, id, len < 64 ? (size_t)len : 64);
	return !strcmp(hex, wanted);
}

static int is_code(const Elf64_Sym *symbol)
{
	int type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

/* The later one; of several at one address always the same: the longest, then by name. */
static int is_better(const struct function *f, const struct function *than)
{
	if (!than->name || f->start != than->start)
		return !than->name || f->start > than->start;
	if (f->size != than->size)
		return f->size > than->size;
	return strcmp(f->name, than->name) < 0;
}

/* The place of the first address that is not below; asked.len where there is none. */
static size_t place_of(const struct vt_symbols *s, uint64_t address)
{
	return vt_search_first(i, s->asked.len, s->asked.items[i].address < address);
}

/*
 * PyTorch's libraries have some 400,000 functions, of which a few hundred are asked for: each is
 * only held against the first address that it can be of, and the rest follows from these.
 */
static void read_table(struct vt_symbols *s, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const Elf64_Sym *symbols = data ? data->d_buf : NULL;
	size_t count = symbols ? data->d_size / sizeof(*symbols) : 0;

	for (size_t i = 0; i < count; i++) {
		struct function f = { symbols[i].st_value, symbols[i].st_size, NULL };
		struct asked *asked;
		size_t place;

		if (!is_code(&symbols[i]) || !symbols[i].st_name)
			continue;
		s->nr_functions++;
		place = place_of(s, f.start);
		asked = s->asked.items + place;
		if (place == s->asked.len || f.start < asked->function.start)
			continue;
		f.name = elf_strptr(s->elf, header->sh_link, symbols[i].st_name);
		if (f.name && *f.name && is_better(&f, &asked->function))
			asked->function = f;
	}
}

/* Reads every section of that type; returns whether there was a function. */
static int read_tables(struct vt_symbols *s, unsigned int type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(s->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == type)
			read_table(s, section, &header);
	return s->nr_functions > 0;
}

static int by_address(const void *x, const void *y)
{
	const struct asked *a = x, *b = y;

	return a->address < b->address ? -1 : a->address > b->address;
}

static void read_functions(struct vt_symbols *s, const uint64_t *return_addresses, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		vt_vector_push(&s->asked,
			       ((struct asked){ .address = return_addresses[i] - 1 }));
	vt_sort(s->asked.items, nr, by_address);
	if (!read_tables(s, SHT_SYMTAB))
		read_tables(s, SHT_DYNSYM);
	/* What no function starts between has the function of the address before it. */
	for (size_t i = 1; i < nr; i++)
		if (!s->asked.items[i].function.name)
			s->asked.items[i].function = s->asked.items[i - 1].function;
}

static int has_line_table(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return 0;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && (!strcmp(name, ".debug_line") || !strcmp(name, ".zdebug_line")))
			return 1;
	}
	return 0;
}

struct vt_symbols *vt_symbols_open(const char *path, const char *build_id,
				   const uint64_t *return_addresses, size_t nr)
{
	struct vt_symbols *s = vt_xcalloc(1, sizeof(*s));

	elf_version(EV_CURRENT);
	/*
	 * The kernel's own object (linux-vdso.so.1) is no file; its name must not mean one in our
	 * directory.
	 */
	s->fd = *path == '/' ? vt_util_open_regular(path) : -1;
	if (s->fd < 0)
		goto out;
	s->elf = elf_begin(s->fd, ELF_C_READ_MMAP, NULL);
	if (!s->elf || elf_kind(s->elf) != ELF_K_ELF || !has_build_id(s->elf, build_id))
		goto out;
	/* Nothing that a 64-bit program loads is of another class. */
	if (gelf_getclass(s->elf) == ELFCLASS64)
		read_functions(s, return_addresses, nr);
	if (has_line_table(s->elf))
		s->dwarf = dwarf_begin_elf(s->elf, DWARF_C_READ, NULL);
	return s;
out:
	vt_symbols_close(s);
	return NULL;
}

void vt_symbols_close(struct vt_symbols *s)
{
	if (!s)
		return;
	dwarf_end(s->dwarf);
	elf_end(s->elf);
	if (s->fd >= 0)
		close(s->fd);
	vt_vector_release(&s->asked);
	free(s->demangled);
	free(s);
}

static const char *demangle(struct vt_symbols *s, const char *name)
{
	int status;
	char *text;

	if (strncmp(name, "_Z", 2))
		return name;
	text = __cxa_demangle(name, s->demangled, &s->demangled_size, &status);
	if (!text || status)
		return name;
	s->demangled = text;
	return text;
}

/*
 * The function that contains the address; NULL between functions: a wrong name is worse than none.
 */
static const struct function *find_function(const struct vt_symbols *s, uint64_t address)
{
	size_t place = place_of(s, address);
	const struct function *f;

	if (place == s->asked.len || s->asked.items[place].address != address)
		return NULL;
	f = &s->asked.items[place].function;
	/* Hand-written assembly has no sizes. */
	return f->name && (!f->size || address - f->start < f->size) ? f : NULL;
}

/*
 * The compilation unit that contains the address: by the index, else (clang writes none) one by
 * one.
 */
static Dwarf_Die *find_unit(Dwarf *dwarf, uint64_t address, Dwarf_Die *unit)
{
	Dwarf_Off offset = 0, next;
	size_t header_bytes;

	if (dwarf_addrdie(dwarf, address, unit))
		return unit;
	while (!dwarf_nextcu(dwarf, offset, &next, &header_bytes, NULL, NULL, NULL)) {
		if (dwarf_offdie(dwarf, offset + header_bytes, unit) &&
		    dwarf_haspc(unit, address) == 1)
			return unit;
		offset = next;
	}
	return NULL;
}

static void find_line(struct vt_symbols *s, uint64_t address, struct vt_symbol *symbol)
{
	Dwarf_Die storage, *unit;
	Dwarf_Line *line;
	int number;

	if (!s->dwarf || !(unit = find_unit(s->dwarf, address, &storage)))
		return;
	line = dwarf_getsrc_die(unit, address);
	if (!line || dwarf_lineno(line, &number))
		return;
	symbol->file = dwarf_linesrc(line, NULL, NULL);
	symbol->line = number;
}

void vt_symbols_find(struct vt_symbols *s, uint64_t return_address, struct vt_symbol *symbol)
{
	const struct function *f = find_function(s, return_address - 1);

	memset(symbol, 0, sizeof(*symbol));
	if (f) {
		symbol->name = demangle(s, f->name);
		symbol->offset = return_address - f->start;
	}
	find_line(s, return_address - 1, symbol);
}
