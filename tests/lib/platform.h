/* SPDX-License-Identifier: MIT */
/* What an emulator or a sandbox may lack: a test that needs it is skipped there, and says why. */
#ifndef VT_TESTS_PLATFORM_H
#define VT_TESTS_PLATFORM_H

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Reading of memory that may not be there, by the kernel: absent from qemu's user mode. */
static inline void skip_without_checked_reads(void)
{
	char from = 1, to = 0;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) < 0 && errno == ENOSYS) {
		print_message("process_vm_readv is absent here: nothing tested\n");
		skip();
	}
}

/* Mappings that a child does not get: a kernel's work that qemu's user mode leaves out. */
static inline void skip_where_children_get_everything(void)
{
	const size_t page_bytes = 4096;
	void *page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	int status = 0;
	pid_t pid;

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(madvise(page, page_bytes, MADV_DONTFORK), 0);
	pid = fork();
	/* msync() of a page that is not there fails, and raises no signal. */
	if (pid == 0)
		_exit(msync(page, page_bytes, MS_ASYNC) == 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	munmap(page, page_bytes);
	if (WEXITSTATUS(status)) {
		print_message("MADV_DONTFORK does nothing here: nothing tested\n");
		skip();
	}
}

#endif
