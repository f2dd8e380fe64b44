/* SPDX-License-Identifier: MIT */
#include "analyzer/database/db_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/recording_file.h"
#include "analyzer/base/util.h"
#include "analyzer/database/db_format.h"

static uint32_t get_be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* A page size of 65536 is written as 1. */
static uint64_t promised_bytes(const unsigned char *header)
{
	uint32_t page = (uint32_t)header[VT_DB_PAGE_BYTES_OFFSET] << 8 |
			header[VT_DB_PAGE_BYTES_OFFSET + 1];

	return (uint64_t)(page == 1 ? 65536 : page) * get_be32(header + VT_DB_FILE_PAGES_OFFSET);
}

static int has_write_ahead_log(const char *path)
{
	char *log = vt_xasprintf("%s-wal", path);
	struct stat st;
	int found = !stat(log, &st) && st.st_size > 0;

	free(log);
	return found;
}

static int check_header(const char *path, const unsigned char *header, uint64_t size_bytes,
			struct vt_diag *diag)
{
	uint32_t version = get_be32(header + VT_DB_USER_VERSION_OFFSET);

	if (memcmp(header, VT_RECORDING_FILE_SQLITE, sizeof(VT_RECORDING_FILE_SQLITE)) ||
	    get_be32(header + VT_DB_APPLICATION_ID_OFFSET) != VT_DB_APPLICATION_ID) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: not a vtrace database", path);
		return -1;
	}
	if (version > VT_DB_SCHEMA_VERSION) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: written by a newer vtrace: schema %u; this version (%s) reads up "
			    "to %d",
			    path, version, VTRACE_VERSION, VT_DB_SCHEMA_VERSION);
		return -1;
	}
	/*
	 * While a writer moves pages from the log into the file, the first page runs ahead of the
	 * size.
	 */
	if (size_bytes < promised_bytes(header) && !has_write_ahead_log(path)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: truncated: %llu of %llu bytes",
			    path, (unsigned long long)size_bytes,
			    (unsigned long long)promised_bytes(header));
		return -1;
	}
	return 0;
}

int vt_db_check_file(const char *path, struct vt_diag *diag)
{
	unsigned char header[VT_DB_FILE_HEADER_BYTES];
	struct stat st;
	ssize_t len;
	int fd;

	/* Not waiting for the writer of a pipe. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	len = S_ISREG(st.st_mode) ? pread(fd, header, sizeof(header), 0) : 0;
	close(fd);
	if (len != (ssize_t)sizeof(header)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path,
			    S_ISDIR(st.st_mode)    ? "is a directory"
			    : !S_ISREG(st.st_mode) ? "not a regular file"
			    : len == 0             ? "empty, not a vtrace database"
						   : "not a vtrace database");
		return -1;
	}
	return check_header(path, header, (uint64_t)st.st_size, diag);
}
