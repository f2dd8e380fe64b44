/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_SYS_H
#define VT_PRELOAD_SYS_H

/*
 * Every system call of the recorder.  Called without libc's wrappers, because those are
 * cancellation points, may be interposed by others, and set errno in the host's threads: here errno
 * is untouched and the result is what the kernel said, >= 0 or a negative errno.
 *
 * Context: hook, any thread.  Tests replace single functions with the linker's --wrap.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What distinguishes one file from another. */
struct vt_sys_identity {
	uint64_t device;
	uint64_t inode;
};

/*
 * Files.  Descriptors are close-on-exec and must be closed before the caller returns to the host.
 */
int vt_sys_open(const char *path, int flags, unsigned int mode);
int vt_sys_close(int fd);
/* Without the SIGPIPE or SIGXFSZ by which a reader that is gone or a full file kills a program. */
ssize_t vt_sys_write_unsignalled(int fd, const void *bytes, size_t len);
int vt_sys_identify(int fd, struct vt_sys_identity *identity);
uint64_t vt_sys_disk_bytes(int fd);	/* that the file has blocks for, holes left out */
/* The whole piece, or a negative errno; a file that is shorter than that is -EIO. */
int vt_sys_write_at(int fd, const void *bytes, size_t len, uint64_t offset);
int vt_sys_read_at(int fd, void *bytes, size_t len, uint64_t offset);
/* 0, or -ENOENT or another reason; a link that leads nowhere is there as well. */
int vt_sys_exists(const char *path);
int vt_sys_is_executable(const char *path);	/* 1 or 0 */
int vt_sys_unlink(const char *path);
ssize_t vt_sys_readlink(const char *path, char *text, size_t size);	/* NUL-terminated */
ssize_t vt_sys_getcwd(char *text, size_t size);

/* Reads a whole small file; returns its length, cut at size - 1, NUL-terminated. */
ssize_t vt_sys_read_file(const char *path, char *text, size_t size);

/*
 * Makes sure that [offset, offset + len) of the file has blocks on disk and reads as zero where it
 * was new. Never raises SIGXFSZ: a size beyond RLIMIT_FSIZE is -EFBIG.  One caller at a time per
 * file.
 */
int vt_sys_allocate(int fd, uint64_t offset, uint64_t len);
/* Writes zeros over a part of the file that has blocks and that nobody uses.  0 or -errno. */
int vt_sys_fill(int fd, uint64_t offset, uint64_t len);

/* Memory.  NULL where the kernel refuses. */
void *vt_sys_map_private(size_t len);		/* zeroed, not reserved in advance */
/* Address space only: what is to be read and written must be allowed first. */
void *vt_sys_reserve_private(size_t len);
/* A part of a file, shared, to be read and written; not where something is.  0 or -errno. */
int vt_sys_map_file_at(void *where, int fd, uint64_t offset, size_t len);
/* The same in the place of what is there. */
int vt_sys_map_file_again(void *where, int fd, uint64_t offset, size_t len);
void *vt_sys_reserve_file(int fd, size_t len);	/* shared, from offset 0 */
int vt_sys_allow(void *address, size_t len);
uint64_t vt_sys_address_space_limit(void);	/* bytes, UINT64_MAX: none */
/* Of this process, a page at most: -EFAULT where there is none, whoever takes it away meanwhile. */
int vt_sys_read_memory(void *to, const void *from, size_t len);
/* Whether a word of this process may be written: the kernel writes there what it says. */
int vt_sys_is_writable(void *word);
void vt_sys_unmap(void *address, size_t len);
int vt_sys_advise(void *address, size_t len, int advice);

/* Processes and time. */
int vt_sys_process_id(void);
int vt_sys_thread_id(void);
int vt_sys_is_alive(int pid);		/* 1 or 0; a zombie is dead, who cannot be asked lives */
void vt_sys_sleep_ns(uint64_t ns);	/* may return earlier */
void vt_sys_yield(void);

/* Sleeps while *word is `value`; may return for no reason.  Wakes one that sleeps there. */
void vt_sys_wait(const uint32_t *word, uint32_t value);
void vt_sys_wake(const uint32_t *word);

/* The calling thread's mask; sets are the kernel's, the first 64 bits of a sigset_t. */
int vt_sys_mask_signals(int how, const void *new, void *old);
uint64_t vt_sys_now_ns(int clock);	/* CLOCK_MONOTONIC, CLOCK_REALTIME */
int vt_sys_hostname(char *text, size_t size);

/*
 * Starts a program that is not a child of this process and whose end is not reported here: no
 * SIGCHLD, nothing for the host's wait().  New session, default signals, empty signal mask.
 * `stack` is scratch memory.  Returns its process id, or a negative errno.
 */
int vt_sys_start_detached(const char *path, char *const argv[], char *const envp[], void *stack,
	size_t stack_size);

#endif
