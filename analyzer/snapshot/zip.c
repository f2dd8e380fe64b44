/* SPDX-License-Identifier: MIT */
/*
 * zip.c - APPNOTE.TXT of PKWARE, sections 4.3.6 to 4.3.16: a directory at the end of the file, and
 * a header before each member.
 */
#include "analyzer/snapshot/zip.h"

#include <string.h>
#include <unistd.h>

#include "analyzer/base/util.h"

#define END_BYTES    22
#define MOST_COMMENT 65535
#define ENTRY_BYTES  46
#define HEADER_BYTES 30

#define END_SIGNATURE	 0x06054b50
#define ENTRY_SIGNATURE	 0x02014b50
#define HEADER_SIGNATURE 0x04034b50

#define METHOD_STORED	0
#define METHOD_DEFLATED 8
#define FLAG_ENCRYPTED	1

/* Stands for a number that is in a 64-bit field elsewhere. */
#define WIDE 0xffffffffu

/* The directories of archives with data for a snapshot are short. */
#define MOST_DIRECTORY_BYTES ((uint64_t)16 << 20)

struct entry {
	unsigned method, flags;
	uint32_t stored_bytes, header_offset;
};

static unsigned get16(const unsigned char *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

static uint32_t get32(const unsigned char *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static int fail(const char *path, const char *what, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: zip archive: %s", path, what);
	return -1;
}

/* The directory's bytes, free(); NULL with `diag` filled. */
static unsigned char *read_directory(int fd, uint64_t file_bytes, uint32_t *len, const char *path,
				     struct vt_diag *diag)
{
	uint64_t most = END_BYTES + MOST_COMMENT;
	size_t tail_len = (size_t)(file_bytes < most ? file_bytes : most), at;
	unsigned char *tail = vt_xmalloc(tail_len + 1), *directory = NULL;
	uint32_t offset;

	if (tail_len < END_BYTES || pread(fd, tail, tail_len, (off_t)(file_bytes - tail_len)) !=
					    (ssize_t)tail_len)
		goto out;
	for (at = tail_len - END_BYTES; at > 0 && get32(tail + at) != END_SIGNATURE; at--)
		;
	if (get32(tail + at) != END_SIGNATURE)
		goto out;
	*len = get32(tail + at + 12);
	offset = get32(tail + at + 16);
	if (*len > MOST_DIRECTORY_BYTES || (uint64_t)offset + *len > file_bytes)
		goto out;
	directory = vt_xmalloc(*len + 1u);
	if (pread(fd, directory, *len, offset) != (ssize_t)*len) {
		free(directory);
		directory = NULL;
	}
out:
	if (!directory)
		fail(path, "damaged, or of 4 GiB or more", diag);
	free(tail);
	return directory;
}

static int has_suffix(const char *name, unsigned len, const char *suffix)
{
	size_t suffix_len = strlen(suffix);

	return len >= suffix_len && !memcmp(name + len - suffix_len, suffix, suffix_len);
}

/* Which member it is, and how many there are of its kind. */
static unsigned choose(struct entry *chosen, const unsigned char *directory, uint32_t len)
{
	unsigned nr_members = 0, nr_pickles = 0;

	for (uint32_t at = 0; at + ENTRY_BYTES <= len;) {
		const unsigned char *p = directory + at;
		const char *name = (const char *)p + ENTRY_BYTES;
		unsigned name_len = get16(p + 28);
		struct entry entry = { get16(p + 10), get16(p + 8), get32(p + 20), get32(p + 42) };
		int is_pickle;

		if (get32(p) != ENTRY_SIGNATURE || at + ENTRY_BYTES + name_len > len)
			break;
		at += ENTRY_BYTES + name_len + get16(p + 30) + get16(p + 32);
		if (has_suffix(name, name_len, "/"))
			continue;
		is_pickle = has_suffix(name, name_len, ".pickle") ||
			    has_suffix(name, name_len, ".pkl");
		if (is_pickle ? !nr_pickles : !nr_pickles && !nr_members)
			*chosen = entry;
		nr_members++;
		nr_pickles += (unsigned)is_pickle;
	}
	return nr_pickles ? nr_pickles : nr_members;
}

int vt_zip_find(struct vt_zip_member *member, int fd, uint64_t file_bytes, const char *path,
		struct vt_diag *diag)
{
	unsigned char *directory, header[HEADER_BYTES];
	struct entry entry = { 0 };
	uint32_t len = 0;
	unsigned nr;

	directory = read_directory(fd, file_bytes, &len, path, diag);
	if (!directory)
		return -1;
	nr = choose(&entry, directory, len);
	free(directory);
	if (nr != 1)
		return fail(path, nr ? "holds several files, not one snapshot" : "holds no file",
			    diag);
	if (entry.flags & FLAG_ENCRYPTED)
		return fail(path, "encrypted", diag);
	if (entry.method != METHOD_STORED && entry.method != METHOD_DEFLATED)
		return fail(path, "compressed in a way that is not deflate", diag);
	if (entry.stored_bytes == WIDE || entry.header_offset == WIDE)
		return fail(path, "of 4 GiB or more", diag);
	if (pread(fd, header, sizeof(header), entry.header_offset) != (ssize_t)sizeof(header) ||
	    get32(header) != HEADER_SIGNATURE)
		return fail(path, "damaged", diag);
	member->is_deflated = entry.method == METHOD_DEFLATED;
	member->stored_bytes = entry.stored_bytes;
	member->offset = (uint64_t)entry.header_offset + HEADER_BYTES + get16(header + 26) +
			 get16(header + 28);
	if (member->offset + member->stored_bytes > file_bytes)
		return fail(path, "truncated", diag);
	return 0;
}
