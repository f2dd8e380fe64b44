/* SPDX-License-Identifier: MIT */
#include "fat_binary.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FAT_BINARY_MAGIC = 0xBA55ED50u };

enum kind { KIND_PTX = 1, KIND_MACHINE_CODE = 2 };

/* Followed by size_bytes of entries. */
struct fat_binary {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t size_bytes;
};

/* Followed by its code, padded; the next entry is header_bytes + code_bytes further. */
struct entry {
	uint16_t kind, version;
	uint32_t header_bytes;
	uint64_t code_bytes;
	uint32_t compressed_bytes, options_offset;
	uint16_t minor, major; /* of the code's format */
	uint32_t architecture;
};
_Static_assert(offsetof(struct entry, architecture) == 28, "entry of a fat binary");

static void consider(const struct entry *entry, int capability, int *ptx, int *machine_code)
{
	int architecture = (int)entry->architecture;

	if (architecture > capability)
		return;
	if (entry->kind == KIND_PTX && architecture > *ptx)
		*ptx = architecture;
	if (entry->kind == KIND_MACHINE_CODE && architecture / 10 == capability / 10 &&
	    architecture > *machine_code)
		*machine_code = architecture;
}

struct vts_code vts_fat_binary_code(const void *data, int capability)
{
	struct vts_code code = {capability, capability};
	struct fat_binary header;
	struct entry entry;
	const char *at = data, *end;
	int ptx = 0, machine_code = 0;

	if (!data)
		return code;
	memcpy(&header, data, sizeof(header));
	if (header.magic != FAT_BINARY_MAGIC)
		return code;
	at += header.header_bytes;
	end = at + header.size_bytes;
	while ((size_t)(end - at) >= sizeof(entry)) {
		memcpy(&entry, at, sizeof(entry));
		if (entry.header_bytes < sizeof(entry) ||
		    entry.header_bytes > (size_t)(end - at) ||
		    entry.code_bytes > (size_t)(end - at) - entry.header_bytes)
			break;
		consider(&entry, capability, &ptx, &machine_code);
		at += entry.header_bytes + entry.code_bytes;
	}
	if (machine_code)
		code.ptx_architecture = code.binary_architecture = machine_code;
	else if (ptx)
		code.ptx_architecture = ptx;
	return code;
}
