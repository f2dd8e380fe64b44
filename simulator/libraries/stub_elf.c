/* SPDX-License-Identifier: MIT */
/*
 * The file, by address (which equals the file offset, so that one number serves both):
 *
 *   read-only   headers, hash, dynsym, dynstr, versym, verdef, rela
 *   code        "return 0", then one stub per function
 *   writable    dynamic, stub table (stub_table.h), zeroed room for imported data
 *
 * and after that, in the file only, the section headers that nm, gdb and the like read.
 *
 * E1  Every segment starts on a page of its own.
 * E2  The only relocations are relative: two per table entry.
 * E3  dynsym is: nothing, the client's names in the set's order, the table.
 * E4  Versions: index 1 is the base (soname), index 2+i is nodes[i].
 */
#include "stub_elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stub_table.h"

/* Each begins with a landing pad (endbr64, bti c); a stub loads its entry's address and jumps. */
#if defined(__x86_64__)
enum {
	PAGE = 4096,
	STUB_SIZE = 16,
	RELATIVE = R_X86_64_RELATIVE,
};

/* endbr64; xor %eax, %eax; ret */
static const unsigned char return_zero[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xc0, 0xc3};
/* endbr64; lea ENTRY(%rip), %r11; jmp *(%r11) */
static const unsigned char stub[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x4c, 0x8d, 0x1d,
				     0,    0,    0,    0,    0x41, 0xff, 0x23};

static void put_entry(unsigned char *code, size_t address, size_t entry)
{
	int32_t distance = (int32_t)((int64_t)entry - (int64_t)(address + 11));

	memcpy(code + 7, &distance, sizeof(distance));
}
#elif defined(__aarch64__)
enum {
	PAGE = 65536, /* the largest that kernels have */
	STUB_SIZE = 32,
	RELATIVE = R_AARCH64_RELATIVE,
};

/* bti c; mov w0, #0; ret */
static const uint32_t return_zero[] = {0xd503245f, 0x52800000, 0xd65f03c0};
/* bti c; adrp x17, ENTRY; add x17, x17, #:lo12:ENTRY; ldr x16, [x17]; br x16 */
static const uint32_t stub[] = {0xd503245f, 0x90000011, 0x91000231, 0xf9400230, 0xd61f0200};

static void put_entry(unsigned char *code, size_t address, size_t entry)
{
	uint32_t pages = (uint32_t)((entry >> 12) - (address >> 12)), instructions[2];

	memcpy(instructions, code + 4, sizeof(instructions));
	instructions[0] |= (pages & 3) << 29 | ((pages >> 2) & 0x7ffff) << 5;
	instructions[1] |= (uint32_t)(entry & 0xfff) << 10;
	memcpy(code + 4, instructions, sizeof(instructions));
}
#else
#error "stubs are machine code: which one?"
#endif

enum {
	NR_SEGMENTS = 5,
	NR_DYNAMIC = 14,
	OBJECT_SIZE = 4096, /* of one imported variable, whose true size an import does not tell */
};

/* The sections, and where their names begin in the text below. */
enum section {
	NO_SECTION,
	SECTION_DYNSYM,
	SECTION_DYNSTR,
	SECTION_HASH,
	SECTION_VERSYM,
	SECTION_VERDEF,
	SECTION_RELA,
	SECTION_TEXT,
	SECTION_DYNAMIC,
	SECTION_DATA,
	SECTION_BSS,
	SECTION_NAMES,
	NR_SECTIONS,
};

static const char section_names[] =
	"\0.dynsym\0.dynstr\0.hash\0.gnu.version\0.gnu.version_d\0.rela.dyn\0.text\0.dynamic\0"
	".data\0.bss\0.shstrtab";

/* Addresses of the parts, all known before anything is written. */
struct layout {
	size_t hash, symbols, strings, versions, definitions, relocations;
	size_t code;
	size_t dynamic, table, objects;
	size_t strings_size, loaded_size, memory_size;
	size_t section_names, sections, file_size;
	size_t nr_symbols, nr_functions, nr_objects;
};

struct image {
	const struct vts_stub_library *library;
	struct layout at;
	unsigned char *bytes;
	size_t strings_used;
};

static size_t round_up(size_t value, size_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static void plan_read_only(struct layout *at, const struct vts_stub_library *library)
{
	size_t size = sizeof(Elf64_Ehdr) + NR_SEGMENTS * sizeof(Elf64_Phdr);

	at->hash = size;
	size += (2 + 2 * at->nr_symbols) * sizeof(Elf64_Word);
	at->symbols = size = round_up(size, 8);
	size += at->nr_symbols * sizeof(Elf64_Sym);
	at->strings = size;
	size += at->strings_size;
	at->versions = size = round_up(size, 2);
	size += at->nr_symbols * sizeof(Elf64_Half);
	at->definitions = size = round_up(size, 8);
	size += (1 + library->nr_nodes) * (sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux));
	at->relocations = size = round_up(size, 8);
	size += at->nr_functions * 2 * sizeof(Elf64_Rela);
	at->code = round_up(size, PAGE);
}

static void plan(struct layout *at, const struct vts_stub_library *library)
{
	size_t i;

	memset(at, 0, sizeof(*at));
	at->strings_size = 1 + sizeof(VTS_STUB_TABLE_SYMBOL) + strlen(library->soname) + 1;
	for (i = 0; i < library->nr_nodes; i++)
		at->strings_size += strlen(library->nodes[i]) + 1;
	for (i = 0; i < library->nr_symbols; i++) {
		at->strings_size += strlen(library->symbols[i].name) + 1;
		if (library->symbols[i].is_object)
			at->nr_objects++;
		else
			at->nr_functions++;
	}
	at->nr_symbols = library->nr_symbols + 2;
	plan_read_only(at, library);
	at->dynamic = round_up(at->code + (1 + at->nr_functions) * STUB_SIZE, PAGE);
	at->table = at->dynamic + NR_DYNAMIC * sizeof(Elf64_Dyn);
	at->loaded_size = at->table + sizeof(struct vts_stub_table) +
			  at->nr_functions * sizeof(struct vts_stub_entry);
	at->objects = round_up(at->loaded_size, PAGE);
	at->memory_size = at->objects + at->nr_objects * OBJECT_SIZE;
	at->section_names = at->loaded_size;
	at->sections = round_up(at->section_names + sizeof(section_names), 8);
	at->file_size = at->sections + NR_SECTIONS * sizeof(Elf64_Shdr);
}

/* Returns the offset of the text in dynstr. */
static Elf64_Word add_string(struct image *image, const char *text)
{
	size_t offset = image->strings_used;

	strcpy((char *)image->bytes + image->at.strings + offset, text);
	image->strings_used += strlen(text) + 1;
	return (Elf64_Word)offset;
}

static void write_segment(struct image *image, unsigned int index, Elf64_Word type,
			  Elf64_Word flags, size_t start, size_t file_end, size_t memory_end)
{
	Elf64_Phdr *segment = (Elf64_Phdr *)(image->bytes + sizeof(Elf64_Ehdr)) + index;

	segment->p_type = type;
	segment->p_flags = flags;
	segment->p_offset = segment->p_vaddr = segment->p_paddr = start;
	segment->p_filesz = file_end - start;
	segment->p_memsz = memory_end - start;
	segment->p_align = type == PT_LOAD ? PAGE : 8;
}

static void write_headers(struct image *image)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)image->bytes;
	const struct layout *at = &image->at;

	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_ident[EI_VERSION] = EV_CURRENT;
	header->e_type = ET_DYN;
	header->e_machine = VTS_STUB_MACHINE;
	header->e_version = EV_CURRENT;
	header->e_phoff = sizeof(*header);
	header->e_ehsize = sizeof(*header);
	header->e_phentsize = sizeof(Elf64_Phdr);
	header->e_phnum = NR_SEGMENTS;
	header->e_shoff = at->sections;
	header->e_shentsize = sizeof(Elf64_Shdr);
	header->e_shnum = NR_SECTIONS;
	header->e_shstrndx = SECTION_NAMES;
	write_segment(image, 0, PT_LOAD, PF_R, 0, at->code, at->code);
	write_segment(image, 1, PT_LOAD, PF_R | PF_X, at->code, at->dynamic, at->dynamic);
	write_segment(image, 2, PT_LOAD, PF_R | PF_W, at->dynamic, at->loaded_size,
		      at->memory_size);
	write_segment(image, 3, PT_DYNAMIC, PF_R | PF_W, at->dynamic, at->table, at->table);
	write_segment(image, 4, PT_GNU_STACK, PF_R | PF_W, 0, 0, 0);
}

static void write_stub(struct image *image, size_t address, size_t entry)
{
	memcpy(image->bytes + address, stub, sizeof(stub));
	put_entry(image->bytes + address, address, entry);
}

static void write_relocation(struct image *image, size_t index, size_t where, size_t target)
{
	Elf64_Rela *relocation = (Elf64_Rela *)(image->bytes + image->at.relocations) + index;

	relocation->r_offset = where;
	relocation->r_info = ELF64_R_INFO(0, RELATIVE);
	relocation->r_addend = (Elf64_Sxword)target;
}

static void write_symbol(struct image *image, size_t index, Elf64_Word name, int type,
			 size_t address, size_t size, Elf64_Half version, enum section section)
{
	Elf64_Sym *symbol = (Elf64_Sym *)(image->bytes + image->at.symbols) + index;
	Elf64_Half *versions = (Elf64_Half *)(image->bytes + image->at.versions);

	symbol->st_name = name;
	symbol->st_info = ELF64_ST_INFO(STB_GLOBAL, type);
	symbol->st_shndx = section;
	symbol->st_value = address;
	symbol->st_size = size;
	versions[index] = version;
}

static void write_names(struct image *image)
{
	const struct vts_stub_library *library = image->library;
	const struct layout *at = &image->at;
	struct vts_stub_table *table = (struct vts_stub_table *)(image->bytes + at->table);
	size_t i, entry, address, functions = 0, objects = 0;
	Elf64_Word name;
	Elf64_Half version;

	memcpy(image->bytes + at->code, return_zero, sizeof(return_zero));
	table->magic = VTS_STUB_MAGIC;
	table->nr_entries = (uint32_t)at->nr_functions;
	for (i = 0; i < library->nr_symbols; i++) {
		name = add_string(image, library->symbols[i].name);
		version = (Elf64_Half)(library->symbols[i].node < 0 ? VER_NDX_GLOBAL
								    : library->symbols[i].node + 2);
		if (library->symbols[i].is_object) {
			write_symbol(image, i + 1, name, STT_OBJECT,
				     at->objects + objects++ * OBJECT_SIZE, OBJECT_SIZE, version,
				     SECTION_BSS);
			continue;
		}
		address = at->code + (1 + functions) * STUB_SIZE;
		entry = at->table + sizeof(*table) + functions * sizeof(struct vts_stub_entry);
		write_symbol(image, i + 1, name, STT_FUNC, address, STUB_SIZE, version,
			     SECTION_TEXT);
		write_stub(image, address, entry);
		write_relocation(image, 2 * functions, entry, at->code);
		write_relocation(image, 2 * functions + 1,
				 entry + offsetof(struct vts_stub_entry, name), at->strings + name);
		functions++;
	}
	write_symbol(image, i + 1, add_string(image, VTS_STUB_TABLE_SYMBOL), STT_OBJECT, at->table,
		     at->loaded_size - at->table, VER_NDX_GLOBAL, SECTION_DATA);
}

/* The hash of the System V ABI, with as many buckets as symbols. */
static Elf64_Word hash_of(const char *name)
{
	Elf64_Word hash = 0, high;

	while (*name) {
		hash = (hash << 4) + (unsigned char)*name++;
		high = hash & 0xf0000000;
		hash ^= high >> 24;
		hash &= ~high;
	}
	return hash;
}

static void write_hash(struct image *image)
{
	Elf64_Word *table = (Elf64_Word *)(image->bytes + image->at.hash);
	const Elf64_Sym *symbols = (Elf64_Sym *)(image->bytes + image->at.symbols);
	const char *strings = (const char *)image->bytes + image->at.strings;
	Elf64_Word nr = (Elf64_Word)image->at.nr_symbols;
	Elf64_Word *buckets = table + 2, *chains = buckets + nr, *bucket, i;

	table[0] = table[1] = nr;
	for (i = 1; i < nr; i++) {
		bucket = &buckets[hash_of(strings + symbols[i].st_name) % nr];
		chains[i] = *bucket;
		*bucket = i;
	}
}

static void write_definition(struct image *image, size_t index, const char *name, Elf64_Word string,
			     int is_last)
{
	size_t size = sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux);
	Elf64_Verdef *definition =
		(Elf64_Verdef *)(image->bytes + image->at.definitions + index * size);
	Elf64_Verdaux *aux = (Elf64_Verdaux *)(definition + 1);

	definition->vd_version = VER_DEF_CURRENT;
	definition->vd_flags = index ? 0 : VER_FLG_BASE;
	definition->vd_ndx = (Elf64_Half)(index + 1);
	definition->vd_cnt = 1;
	definition->vd_hash = hash_of(name);
	definition->vd_aux = sizeof(*definition);
	definition->vd_next = is_last ? 0 : (Elf64_Word)size;
	aux->vda_name = string;
}

static void write_dynamic(struct image *image)
{
	const struct vts_stub_library *library = image->library;
	const struct layout *at = &image->at;
	Elf64_Dyn *entry = (Elf64_Dyn *)(image->bytes + at->dynamic);
	Elf64_Word soname = add_string(image, library->soname);
	size_t i;

	write_definition(image, 0, library->soname, soname, !library->nr_nodes);
	for (i = 0; i < library->nr_nodes; i++)
		write_definition(image, i + 1, library->nodes[i],
				 add_string(image, library->nodes[i]), i + 1 == library->nr_nodes);
#define PUT(tag, value) *entry++ = (Elf64_Dyn){.d_tag = (tag), .d_un.d_val = (value)}
	PUT(DT_SONAME, soname);
	PUT(DT_HASH, at->hash);
	PUT(DT_SYMTAB, at->symbols);
	PUT(DT_SYMENT, sizeof(Elf64_Sym));
	PUT(DT_STRTAB, at->strings);
	PUT(DT_STRSZ, at->strings_size);
	PUT(DT_RELA, at->relocations);
	PUT(DT_RELASZ, at->nr_functions * 2 * sizeof(Elf64_Rela));
	PUT(DT_RELAENT, sizeof(Elf64_Rela));
	/*
	 * Without nodes every name is a plain global one, and the tables are not told to the
	 * loader.
	 */
	if (library->nr_nodes) {
		PUT(DT_VERSYM, at->versions);
		PUT(DT_VERDEF, at->definitions);
		PUT(DT_VERDEFNUM, 1 + library->nr_nodes);
	}
	PUT(DT_NULL, 0);
#undef PUT
}

static void write_section(struct image *image, enum section index, Elf64_Word type,
			  Elf64_Xword flags, size_t start, size_t end)
{
	/* By type: which section a section refers to, and the size of its entries. */
	static const struct {
		Elf64_Word link, info, entry_size;
	} shapes[NR_SECTIONS] = {
		[SECTION_DYNSYM] = {SECTION_DYNSTR, 1, sizeof(Elf64_Sym)},
		[SECTION_HASH] = {SECTION_DYNSYM, 0, sizeof(Elf64_Word)},
		[SECTION_VERSYM] = {SECTION_DYNSYM, 0, sizeof(Elf64_Half)},
		[SECTION_VERDEF] = {SECTION_DYNSTR, 0, 0},
		[SECTION_RELA] = {SECTION_DYNSYM, 0, sizeof(Elf64_Rela)},
		[SECTION_DYNAMIC] = {SECTION_DYNSTR, 0, sizeof(Elf64_Dyn)},
	};
	Elf64_Shdr *section = (Elf64_Shdr *)(image->bytes + image->at.sections) + index;
	const char *name = section_names + 1;
	int i;

	for (i = 1; i < (int)index; i++)
		name += strlen(name) + 1;
	section->sh_name = (Elf64_Word)(name - section_names);
	section->sh_type = type;
	section->sh_flags = flags;
	section->sh_addr = flags ? start : 0;
	section->sh_offset = start;
	section->sh_size = end - start;
	section->sh_link = shapes[index].link;
	section->sh_info = index == SECTION_VERDEF ? (Elf64_Word)image->library->nr_nodes + 1
						   : shapes[index].info;
	section->sh_addralign = type == SHT_STRTAB ? 1 : 8;
	section->sh_entsize = shapes[index].entry_size;
}

static void write_sections(struct image *image)
{
	const struct layout *at = &image->at;
	const Elf64_Xword data = SHF_ALLOC | SHF_WRITE, code = SHF_ALLOC | SHF_EXECINSTR;
	size_t definitions_end =
		at->definitions +
		(1 + image->library->nr_nodes) * (sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux));
	size_t relocations_end = at->relocations + at->nr_functions * 2 * sizeof(Elf64_Rela);

	memcpy(image->bytes + at->section_names, section_names, sizeof(section_names));
	write_section(image, SECTION_DYNSYM, SHT_DYNSYM, SHF_ALLOC, at->symbols, at->strings);
	write_section(image, SECTION_DYNSTR, SHT_STRTAB, SHF_ALLOC, at->strings,
		      at->strings + at->strings_size);
	write_section(image, SECTION_HASH, SHT_HASH, SHF_ALLOC, at->hash,
		      at->hash + (2 + 2 * at->nr_symbols) * sizeof(Elf64_Word));
	write_section(image, SECTION_VERSYM, SHT_GNU_versym, SHF_ALLOC, at->versions,
		      at->versions + at->nr_symbols * sizeof(Elf64_Half));
	write_section(image, SECTION_VERDEF, SHT_GNU_verdef, SHF_ALLOC, at->definitions,
		      definitions_end);
	write_section(image, SECTION_RELA, SHT_RELA, SHF_ALLOC, at->relocations, relocations_end);
	write_section(image, SECTION_TEXT, SHT_PROGBITS, code, at->code,
		      at->code + (1 + at->nr_functions) * STUB_SIZE);
	write_section(image, SECTION_DYNAMIC, SHT_DYNAMIC, data, at->dynamic, at->table);
	write_section(image, SECTION_DATA, SHT_PROGBITS, data, at->table, at->loaded_size);
	write_section(image, SECTION_BSS, SHT_NOBITS, data, at->objects, at->memory_size);
	write_section(image, SECTION_NAMES, SHT_STRTAB, 0, at->section_names,
		      at->section_names + sizeof(section_names));
}

static int write_file(const char *path, const unsigned char *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int error = 0;
	ssize_t nr;

	if (fd < 0)
		return -errno;
	while (size && !error) {
		nr = write(fd, bytes, size);
		if (nr < 0 && errno != EINTR)
			error = -errno;
		bytes += nr > 0 ? nr : 0;
		size -= nr > 0 ? (size_t)nr : 0;
	}
	if (close(fd) && !error)
		error = -errno;
	return error;
}

int vts_stub_elf_write(const struct vts_stub_library *library, const char *path)
{
	struct image image = {.library = library, .strings_used = 1};
	int error;

	plan(&image.at, library);
	image.bytes = calloc(1, image.at.file_size);
	if (!image.bytes)
		return -ENOMEM;
	write_headers(&image);
	write_names(&image);
	write_dynamic(&image);
	write_hash(&image);
	write_sections(&image);
	error = write_file(path, image.bytes, image.at.file_size);
	free(image.bytes);
	return error;
}
