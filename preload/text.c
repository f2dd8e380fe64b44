/* SPDX-License-Identifier: MIT */
#include "preload/text.h"

#include <errno.h>
#include <string.h>

#include "common/size.h"
#include "preload/sys.h"

#define STDERR 2

static struct {
	struct vt_sys_identity stderr_identity;
	int is_remembered;	/* 1: identity is valid, -1: standard error was closed */
} g;

void vt_text_init(struct vt_text *text, char *buffer, size_t size)
{
	*text = (struct vt_text){ .bytes = buffer, .size = size };
	buffer[0] = '\0';
}

void vt_text_add_bytes(struct vt_text *text, const char *bytes, size_t len)
{
	size_t left = text->size - 1 - text->len;

	if (len > left) {
		len = left;
		text->is_cut = 1;
	}
	memcpy(text->bytes + text->len, bytes, len);
	text->len += len;
	text->bytes[text->len] = '\0';
}

void vt_text_add(struct vt_text *text, const char *string)
{
	vt_text_add_bytes(text, string, strlen(string));
}

void vt_text_add_char(struct vt_text *text, char c)
{
	vt_text_add_bytes(text, &c, 1);
}

static void add_digits(struct vt_text *text, uint64_t number, unsigned int group)
{
	char digits[28];
	unsigned int at = sizeof(digits);
	unsigned int nr = 0;

	do {
		if (group && nr && nr % group == 0)
			digits[--at] = ',';
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
		nr++;
	} while (number);
	vt_text_add_bytes(text, digits + at, sizeof(digits) - at);
}

void vt_text_add_number(struct vt_text *text, uint64_t number)
{
	add_digits(text, number, 0);
}

void vt_text_add_grouped(struct vt_text *text, uint64_t number)
{
	add_digits(text, number, 3);
}

void vt_text_add_size(struct vt_text *text, uint64_t size_bytes)
{
	struct vt_size_parts parts = vt_size_split(size_bytes);

	vt_text_add_number(text, parts.whole);
	if (size_bytes >= 1024) {
		vt_text_add_char(text, '.');
		vt_text_add_char(text, (char)('0' + parts.hundredths / 10));
		vt_text_add_char(text, (char)('0' + parts.hundredths % 10));
	}
	vt_text_add_char(text, ' ');
	vt_text_add(text, parts.unit);
}

/*
 * libc's strerror translates and may allocate; these are what opening and growing a file can
 * answer.
 */
void vt_text_add_error(struct vt_text *text, int error)
{
	static const struct {
		int error;
		const char *string;
	} rows[] = {
		{ ENOSPC, "No space left on device" },
		{ EDQUOT, "Disk quota exceeded" },
		{ EFBIG, "File too large" },
		{ EIO, "Input/output error" },
		{ EACCES, "Permission denied" },
		{ EPERM, "Operation not permitted" },
		{ EROFS, "Read-only file system" },
		{ ENOENT, "No such file or directory" },
		{ ENOTDIR, "Not a directory" },
		{ ENAMETOOLONG, "File name too long" },
		{ EEXIST, "File exists" },
		{ ENOMEM, "Cannot allocate memory" },
		{ ENODEV, "File system cannot be mapped" },
		{ EMFILE, "Too many open files" },
		{ ENFILE, "Too many open files in system" },
		{ ESTALE, "File was replaced" },
		{ ETIMEDOUT, "Another thread did not finish" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].error == error) {
			vt_text_add(text, rows[i].string);
			return;
		}
	}
	vt_text_add(text, "error ");
	vt_text_add_number(text, (uint64_t)error);
}

void vt_text_remember_stderr(void)
{
	g.is_remembered = vt_sys_identify(STDERR, &g.stderr_identity) == 0 ? 1 : -1;
}

void vt_text_say(const struct vt_text *text)
{
	struct vt_sys_identity now;

	if (g.is_remembered < 0)
		return;
	if (g.is_remembered && (vt_sys_identify(STDERR, &now) != 0 ||
				now.device != g.stderr_identity.device ||
				now.inode != g.stderr_identity.inode))
		return;
	vt_sys_write_unsignalled(STDERR, text->bytes, text->len);
}
