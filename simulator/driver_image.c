/* SPDX-License-Identifier: MIT */
#include "simulator/driver_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
	MACHINE_CUDA = 190,
	/* Entries of .nv.info: a format, an attribute, and for the format 4 a size and a value. */
	FORMAT_SIZED = 4,
	ATTRIBUTE_MIN_STACK_SIZE = 0x12, /* symbol of the kernel, bytes with all that it calls */
};

struct elf {
	const unsigned char *bytes;
	const Elf64_Shdr *sections;
	unsigned int nr_sections;
	uint64_t size; /* up to the end of the table of sections: nobody says it */
};

static int is_inside(const struct elf *elf, const Elf64_Shdr *section)
{
	return section->sh_offset <= elf->size &&
	       section->sh_size <= elf->size - section->sh_offset;
}

static int open_elf(struct elf *elf, const void *bytes)
{
	const Elf64_Ehdr *head = bytes;

	/* Byte by byte: what is no ELF may be shorter than its head. */
	for (int i = 0; i < SELFMAG; i++)
		if (((const char *)bytes)[i] != ELFMAG[i])
			return -1;
	if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != MACHINE_CUDA ||
	    head->e_shentsize != sizeof(Elf64_Shdr) || !head->e_shoff)
		return -1;
	elf->bytes = bytes;
	elf->sections = (const Elf64_Shdr *)(elf->bytes + head->e_shoff);
	elf->nr_sections = head->e_shnum;
	elf->size = head->e_shoff + (uint64_t)head->e_shnum * sizeof(Elf64_Shdr);
	return 0;
}

static const Elf64_Shdr *find_symbols(const struct elf *elf)
{
	for (unsigned int i = 0; i < elf->nr_sections; i++)
		if (elf->sections[i].sh_type == SHT_SYMTAB && is_inside(elf, &elf->sections[i]) &&
		    elf->sections[i].sh_link < elf->nr_sections &&
		    is_inside(elf, &elf->sections[elf->sections[i].sh_link]))
			return &elf->sections[i];
	return NULL;
}

/* NULL: there is no such symbol. */
static const char *name_of(const struct elf *elf, const Elf64_Shdr *symbols, uint32_t symbol)
{
	const Elf64_Shdr *names = &elf->sections[symbols->sh_link];
	const Elf64_Sym *all = (const Elf64_Sym *)(elf->bytes + symbols->sh_offset);
	const char *text = (const char *)elf->bytes + names->sh_offset;

	if (symbol >= symbols->sh_size / sizeof(*all) || all[symbol].st_name >= names->sh_size ||
	    !memchr(text + all[symbol].st_name, 0, names->sh_size - all[symbol].st_name))
		return NULL;
	return text + all[symbol].st_name;
}

static void add(struct vts_image *image, const char *name, uint32_t local_bytes)
{
	struct vts_image_kernel *more =
		realloc(image->kernels, (image->nr_kernels + 1) * sizeof(*more));

	if (!more)
		return;
	image->kernels = more;
	more[image->nr_kernels].name = strdup(name);
	more[image->nr_kernels].local_bytes = local_bytes;
	image->nr_kernels += more[image->nr_kernels].name != NULL;
}

static void read_info(struct vts_image *image, const struct elf *elf, const Elf64_Shdr *symbols,
		      const Elf64_Shdr *info)
{
	const unsigned char *at = elf->bytes + info->sh_offset, *end = at + info->sh_size;
	struct {
		uint32_t symbol, bytes;
	} value;
	uint16_t size;

	for (; end - at >= 4; at += 4 + (at[0] == FORMAT_SIZED ? size : 0)) {
		memcpy(&size, at + 2, sizeof(size));
		if (at[0] != FORMAT_SIZED || at[1] != ATTRIBUTE_MIN_STACK_SIZE)
			continue;
		if (size < sizeof(value) || end - at < 4 + (ptrdiff_t)size)
			return;
		memcpy(&value, at + 4, sizeof(value));
		if (name_of(elf, symbols, value.symbol))
			add(image, name_of(elf, symbols, value.symbol), value.bytes);
	}
}

void vts_image_read(struct vts_image *image, const void *bytes)
{
	enum { TYPE_CUDA_INFO = 0x70000000 };
	const Elf64_Shdr *symbols;
	struct elf elf;

	memset(image, 0, sizeof(*image));
	if (open_elf(&elf, bytes))
		return;
	symbols = find_symbols(&elf);
	for (unsigned int i = 0; symbols && i < elf.nr_sections; i++)
		if (elf.sections[i].sh_type == TYPE_CUDA_INFO && is_inside(&elf, &elf.sections[i]))
			read_info(image, &elf, symbols, &elf.sections[i]);
}

void vts_image_release(struct vts_image *image)
{
	for (size_t i = 0; i < image->nr_kernels; i++)
		free(image->kernels[i].name);
	free(image->kernels);
	memset(image, 0, sizeof(*image));
}

uint32_t vts_image_local_bytes(const struct vts_image *image, const char *kernel)
{
	for (size_t i = 0; i < image->nr_kernels; i++)
		if (!strcmp(image->kernels[i].name, kernel))
			return image->kernels[i].local_bytes;
	return 0;
}
