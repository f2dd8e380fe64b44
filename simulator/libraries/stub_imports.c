/* SPDX-License-Identifier: MIT */
/* The only user of libelf. */
#include "stub_imports.h"

#include <fcntl.h>
#include <fts.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "stub_elf.h"

/* The sections of one file that say what it imports. */
struct imports {
	Elf *elf;
	Elf_Data *symbols, *versions, *needs, *dynamic;
	size_t nr_symbols, nr_dynamic;
	size_t symbol_strings, need_strings, dynamic_strings; /* section indices */
};

static int find_sections(struct imports *in)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(in->elf, section))) {
		if (!gelf_getshdr(section, &header))
			return -1;
		switch (header.sh_type) {
		case SHT_DYNSYM:
			in->symbols = elf_rawdata(section, NULL);
			in->nr_symbols = header.sh_entsize ? header.sh_size / header.sh_entsize : 0;
			in->symbol_strings = header.sh_link;
			break;
		case SHT_GNU_versym:
			in->versions = elf_rawdata(section, NULL);
			break;
		case SHT_GNU_verneed:
			in->needs = elf_rawdata(section, NULL);
			in->need_strings = header.sh_link;
			break;
		case SHT_DYNAMIC:
			in->dynamic = elf_rawdata(section, NULL);
			in->nr_dynamic = header.sh_entsize ? header.sh_size / header.sh_entsize : 0;
			in->dynamic_strings = header.sh_link;
			break;
		}
	}
	return in->symbols && in->dynamic ? 0 : -1;
}

/* Returns the number of libraries of ours that the file links. */
static int add_needed(struct vts_stub_set *set, const struct imports *in)
{
	const char *soname;
	GElf_Dyn entry;
	int nr = 0;
	size_t i;

	for (i = 0; i < in->nr_dynamic && gelf_getdyn(in->dynamic, (int)i, &entry); i++) {
		if (entry.d_tag != DT_NEEDED)
			continue;
		soname = elf_strptr(in->elf, in->dynamic_strings, entry.d_un.d_val);
		if (soname && vts_stub_set_is_served(soname)) {
			vts_stub_set_add_library(set, soname);
			nr++;
		}
	}
	return nr;
}

/* The file and node that a version index of the importer stands for; 0 when it names neither. */
static int find_need(const struct imports *in, unsigned int index, const char **file,
		     const char **node)
{
	GElf_Verneed need;
	GElf_Vernaux version;
	size_t at = 0, aux;
	int left;

	while (in->needs && gelf_getverneed(in->needs, (int)at, &need)) {
		aux = at + need.vn_aux;
		for (left = need.vn_cnt; left && gelf_getvernaux(in->needs, (int)aux, &version);
		     left--) {
			if ((version.vna_other & 0x7fff) == index) {
				*file = elf_strptr(in->elf, in->need_strings, need.vn_file);
				*node = elf_strptr(in->elf, in->need_strings, version.vna_name);
				return *file && *node;
			}
			aux += version.vna_next;
		}
		if (!need.vn_next)
			return 0;
		at += need.vn_next;
	}
	return 0;
}

static void add_symbol(struct vts_stub_set *set, const struct imports *in, size_t i)
{
	const char *name, *file, *node;
	GElf_Sym symbol;
	GElf_Versym version = VER_NDX_GLOBAL;
	int is_object;

	if (!gelf_getsym(in->symbols, (int)i, &symbol) || symbol.st_shndx != SHN_UNDEF)
		return;
	name = elf_strptr(in->elf, in->symbol_strings, symbol.st_name);
	if (!name || !*name)
		return;
	if (in->versions)
		gelf_getversym(in->versions, (int)i, &version);
	is_object = GELF_ST_TYPE(symbol.st_info) == STT_OBJECT;
	version &= 0x7fff;
	if (version <= VER_NDX_GLOBAL)
		vts_stub_set_add_unversioned(set, name, is_object);
	else if (find_need(in, version, &file, &node) && vts_stub_set_is_served(file))
		vts_stub_set_add_symbol(vts_stub_set_add_library(set, file), name, node, is_object);
}

/* A file that is not a shared object of this machine is skipped silently. */
static void add_file(struct vts_stub_set *set, const char *path)
{
	struct imports in = {0};
	GElf_Ehdr header;
	size_t i;
	int fd;

	elf_version(EV_CURRENT);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	in.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (in.elf && elf_kind(in.elf) == ELF_K_ELF && gelf_getehdr(in.elf, &header) &&
	    header.e_machine == VTS_STUB_MACHINE && header.e_type == ET_DYN &&
	    !find_sections(&in) && add_needed(set, &in))
		for (i = 1; i < in.nr_symbols; i++)
			add_symbol(set, &in, i);
	elf_end(in.elf);
	close(fd);
}

static int is_shared_object(const FTSENT *entry)
{
	const char *suffix = strstr(entry->fts_name, ".so");

	return suffix && (!suffix[3] || suffix[3] == '.');
}

void vts_stub_imports_add_tree(struct vts_stub_set *set, const char *directory)
{
	char *paths[] = {(char *)directory, NULL};
	FTS *tree = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	FTSENT *entry;

	while (tree && (entry = fts_read(tree))) {
		if (entry->fts_info == FTS_D &&
		    (!strcmp(entry->fts_name, "nvidia") || !strcmp(entry->fts_name, "__pycache__")))
			fts_set(tree, entry, FTS_SKIP);
		else if (entry->fts_info != FTS_D && entry->fts_info != FTS_DP &&
			 is_shared_object(entry))
			add_file(set, entry->fts_path);
	}
	if (tree)
		fts_close(tree);
}
