/* SPDX-License-Identifier: MIT */
/*
 * A preloaded library that has system calls fail which libvtrace.so makes, and nobody else's.
 *
 *   FAULT_CALL	which: mmap, map_shared, openat, fallocate, ..., or any (but is_many)
 *   FAULT_FROM	the first that fails, from 1
 *   FAULT_UNTIL	the last that fails; not set: all from there on
 *   FAULT_ERRNO	what it fails with, a number; not set: what fits the call
 *   FAULT_SIGNAL	a number: raised in it before it fails; its handler may jump away
 *   FAULT_COUNT	a file of 16 bytes: how many such calls there were, how many of them failed
 *
 * In a program without libvtrace.so (FAULT_OBJECT=) it is the program's own mmap that is meant.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#ifndef SYS_lstat
#define SYS_lstat (-1) /* newer processors have SYS_newfstatat alone */
#endif

/* Those of the recorder that can fail, and how they usually do. */
#define CALLS(X)                                                                                   \
	X(mmap, ENOMEM) X(mprotect, ENOMEM) X(munmap, ENOMEM) X(madvise, EINVAL)                   \
	X(openat, EMFILE) X(close, EIO)                                                            \
	X(fallocate, ENOSPC) X(pwrite64, ENOSPC) X(pwritev, ENOSPC)                                \
	X(pread64, EIO) X(read, EIO) X(write, EIO)                                                 \
	X(readlinkat, EACCES) X(getcwd, ENOENT) X(uname, EFAULT) X(faccessat, EACCES)              \
	X(unlinkat, EACCES) X(execve, EACCES) X(setsid, EPERM) X(wait4, ECHILD) X(kill, EPERM)     \
	X(clone, EAGAIN) X(fstat, EIO) X(lstat, EACCES) X(getrlimit, EPERM)                        \
	X(rt_sigprocmask, EINVAL) X(rt_sigaction, EINVAL) X(rt_sigpending, EINVAL)                 \
	X(rt_sigtimedwait, EAGAIN) X(clock_nanosleep, EINTR) X(process_vm_readv, EPERM)

static struct {
	const char *call;	/* NULL: nothing fails */
	uint64_t from;
	uint64_t until;
	int error;
	int signal;
	uint64_t *count;	/* two, shared, atomic */
	int is_whole_program;
	uintptr_t start, end;	/* of libvtrace.so */
} g;

/* Past libc, which would come back to us. */
static long raw(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall" : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#endif
}

static long finish(long result)
{
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

static int find_recorder(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	(void)unused;
	if (!slash || strcmp(slash + 1, "libvtrace.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
			g.start = info->dlpi_addr + segment->p_vaddr;
			g.end = g.start + segment->p_memsz;
		}
	}
	return 1;
}

static uint64_t number_of(const char *variable, uint64_t standard)
{
	const char *text = getenv(variable);

	return text ? strtoull(text, NULL, 10) : standard;
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("FAULT_COUNT");
	long fd = path ? raw(SYS_openat, AT_FDCWD, (long)path, O_RDWR, 0, 0, 0) : -1;

	g.from = number_of("FAULT_FROM", 1);
	g.until = number_of("FAULT_UNTIL", UINT64_MAX);
	g.error = (int)number_of("FAULT_ERRNO", 0);
	g.signal = (int)number_of("FAULT_SIGNAL", 0);
	g.is_whole_program = getenv("FAULT_OBJECT") && !*getenv("FAULT_OBJECT");
	dl_iterate_phdr(find_recorder, NULL);
	if (fd >= 0)
		g.count = (void *)raw(SYS_mmap, 0, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		raw(SYS_close, fd, 0, 0, 0, 0, 0);
	g.call = getenv("FAULT_CALL");
}

static int is_ours(const void *caller)
{
	return g.is_whole_program || ((uintptr_t)caller >= g.start && (uintptr_t)caller < g.end);
}

/* Some for each variable of the environment: not of those that fail one by one. */
static int is_many(const char *name)
{
	return !strcmp(name, "process_vm_readv");
}

/* Whether this call fails now.  Returns 0 or an errno. */
static int fault(const char *name, int usual_error, const void *caller)
{
	uint64_t number;

	if (!g.call || !g.count || !is_ours(caller))
		return 0;
	if (strcmp(g.call, name) && (strcmp(g.call, "any") || is_many(name)))
		return 0;
	number = __atomic_add_fetch(g.count, 1, __ATOMIC_RELAXED);
	if (number < g.from || number > g.until)
		return 0;
	__atomic_add_fetch(&g.count[1], 1, __ATOMIC_RELAXED);
	if (g.signal)
		raise(g.signal);
	return g.error ? g.error : usual_error;
}

static const char *name_of(long number, const long *arguments, int *usual_error)
{
	if (number == SYS_mmap && arguments[3] & MAP_SHARED) {
		*usual_error = ENODEV;
		if (g.call && !strcmp(g.call, "map_shared"))
			return "map_shared";
	}
#define ROW(name, error)                                                                           \
	if (number == SYS_##name) {                                                                \
		*usual_error = error;                                                              \
		return #name;                                                                      \
	}
	CALLS(ROW)
#undef ROW
	return NULL;
}

EXPORT long syscall(long number, ...)
{
	const char *name;
	long a[6];
	va_list list;
	int error = 0;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	name = name_of(number, a, &error);
	error = name ? fault(name, error, __builtin_return_address(0)) : 0;
	return error ? finish(-error) : finish(raw(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

/* What the recorder, or SQLite in the importer, calls by libc's own names. */
EXPORT void *mmap(void *address, size_t len, int protection, int flags, int fd, off_t offset)
{
	int is_shared = g.call && !strcmp(g.call, "map_shared");
	int error = 0;

	if (!is_shared || flags & MAP_SHARED)
		error = fault(is_shared ? "map_shared" : "mmap", is_shared ? ENODEV : ENOMEM,
			      __builtin_return_address(0));
	if (error)
		return (void *)finish(-error);
	return (void *)finish(
		raw(SYS_mmap, (long)address, (long)len, protection, flags, fd, offset));
}

EXPORT void *mmap64(void *address, size_t len, int protection, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

EXPORT int fstat(int fd, struct stat *status)
{
	int error = fault("fstat", EIO, __builtin_return_address(0));

	return (int)finish(error ? -error : raw(SYS_fstat, fd, (long)status, 0, 0, 0, 0));
}

EXPORT int lstat(const char *path, struct stat *status)
{
	int error = fault("lstat", EACCES, __builtin_return_address(0));

	return (int)finish(error ? -error : raw(SYS_newfstatat, AT_FDCWD, (long)path, (long)status,
						   AT_SYMLINK_NOFOLLOW, 0, 0));
}

EXPORT int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	int error = fault("getrlimit", EPERM, __builtin_return_address(0));

	return (int)finish(error ? -error : raw(SYS_prlimit64, 0, resource, 0, (long)limit, 0, 0));
}

/* The one that starts the collector: without the variadic rest, which it does not use. */
EXPORT int __clone(int (*run)(void *), void *stack, int flags, void *argument, ...)
{
	static int (*next)(int (*)(void *), void *, int, void *, ...);
	int error = fault("clone", EAGAIN, __builtin_return_address(0));

	if (error)
		return (int)finish(-error);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "__clone");
	return next(run, stack, flags, argument);
}
