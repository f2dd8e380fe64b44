/* SPDX-License-Identifier: MIT */
#include "tests/lib/guarded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

/* Of the pages that hold the bytes. */
static size_t size_of(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (len + page - 1) / page * page;
}

void *guarded_copy(const void *bytes, size_t len)
{
	size_t size = size_of(len), page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + size, page, PROT_NONE), 0);
	if (len)
		memcpy(pages + size - len, bytes, len);
	return pages + size - len;
}

void guarded_free(void *copy, size_t len)
{
	size_t size = size_of(len);

	munmap((char *)copy + len - size, size + (size_t)sysconf(_SC_PAGESIZE));
}
