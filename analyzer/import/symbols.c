/* SPDX-License-Identifier: MIT */
#include "analyzer/import/symbols.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/search.h"
#include "analyzer/base/util.h"

/* From libstdc++: the demangler of the Itanium C++ ABI. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *len, int *status);

struct function {
	uint64_t start;
	uint64_t size;
	const char *name; /* mangled, in the file's mapping */
};

struct vt_symbols {
	int fd;
	Elf *elf;
	Dwarf *dwarf;                         /* NULL without debug information */
	VT_VECTOR(struct function) functions; /* ascending */
	char *demangled;                      /* the demangler's own buffer, reused */
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

static int is_code(const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

static void read_table(struct vt_symbols *s, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Sym symbol;

	for (size_t i = 0; data && i < count; i++) {
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol) || !is_code(&symbol))
			continue;
		name = elf_strptr(s->elf, header->sh_link, symbol.st_name);
		if (name && *name)
			vt_vector_push(&s->functions, ((struct function){ symbol.st_value,
									  symbol.st_size, name }));
	}
}

/* Reads every section of that type; returns whether there was one. */
static int read_tables(struct vt_symbols *s, unsigned int type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(s->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == type)
			read_table(s, section, &header);
	return s->functions.len > 0;
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

/* By address; of several names for one address always the same one first. */
static int compare(const void *x, const void *y)
{
	const struct function *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return strcmp(a->name, b->name);
}

#define DIGIT_BITS 11
#define DIGITS	   (1u << DIGIT_BITS)

/* One pass of a radix sort: by one digit of the address, of the same digit in the old order. */
static void sort_by_digit(const struct function *from, struct function *to, size_t nr,
			  unsigned int shift)
{
	size_t places[DIGITS] = { 0 }, place = 0;

	for (size_t i = 0; i < nr; i++)
		places[from[i].start >> shift & (DIGITS - 1)]++;
	for (unsigned int digit = 0; digit < DIGITS; digit++) {
		size_t count = places[digit];

		places[digit] = place;
		place += count;
	}
	for (size_t i = 0; i < nr; i++)
		to[places[from[i].start >> shift & (DIGITS - 1)]++] = from[i];
}

/*
 * PyTorch's libraries have some 400,000 functions, and comparing them was a quarter of the import
 * of a short run: only those of one address are compared.
 */
static void sort(struct vt_symbols *s)
{
	size_t nr = s->functions.len, end;
	struct function *from = s->functions.items, *to = vt_xcalloc(nr, sizeof(*to)), *swap;
	uint64_t highest = 0;

	for (size_t i = 0; i < nr; i++)
		highest |= from[i].start;
	for (unsigned int shift = 0; shift < 64 && highest >> shift; shift += DIGIT_BITS) {
		sort_by_digit(from, to, nr, shift);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != s->functions.items) {
		memcpy(s->functions.items, from, nr * sizeof(*from));
		to = from;
	}
	free(to);
	from = s->functions.items;
	for (size_t i = 0; i < nr; i = end) {
		for (end = i + 1; end < nr && from[end].start == from[i].start; end++)
			;
		if (end - i > 1)
			qsort(from + i, end - i, sizeof(*from), compare);
	}
}

struct vt_symbols *vt_symbols_open(const char *path, const char *build_id)
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
	if (!read_tables(s, SHT_SYMTAB))
		read_tables(s, SHT_DYNSYM);
	if (s->functions.len)
		sort(s);
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
	vt_vector_release(&s->functions);
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
	size_t low = vt_search_first(i, s->functions.len, s->functions.items[i].start <= address);
	const struct function *f;
	if (!low)
		return NULL;
	f = &s->functions.items[low - 1];
	/* The first of those that start there: the longest. */
	while (f > s->functions.items && f[-1].start == f->start)
		f--;
	/* Hand-written assembly has no sizes. */
	return !f->size || address - f->start < f->size ? f : NULL;
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
