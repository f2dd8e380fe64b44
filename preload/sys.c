/* SPDX-License-Identifier: MIT */
#include "preload/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A system call that leaves errno alone. */
static long call(long number, long a, long b, long c, long d, long e, long f)
{
	int saved = errno;
	long result = syscall(number, a, b, c, d, e, f);

	if (result == -1)
		result = -errno;
	errno = saved;
	return result;
}

#define CALL1(n, a) call(n, (long)(a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b) call(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) call(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(n, a, b, c, d) call(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define CALL6(n, a, b, c, d, e, f) \
	call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

int vt_sys_open(const char *path, int flags, unsigned int mode)
{
	return (int)CALL4(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

int vt_sys_close(int fd)
{
	return (int)CALL1(SYS_close, fd);
}

#define BLOCK_BYTES 512u /* of st_blocks, whatever the file system's own are */
#define SIGNAL_SET_BYTES sizeof(uint64_t) /* the kernel's set of 64 signals */
#define SIGNAL_BIT(number) (1ull << ((number) - 1))

/*
 * Both signals come to the thread that writes, while it writes: blocked, and taken back unless the
 * program had one waiting already.
 */
ssize_t vt_sys_write_unsignalled(int fd, const void *bytes, size_t len)
{
	const uint64_t ours = SIGNAL_BIT(SIGPIPE) | SIGNAL_BIT(SIGXFSZ);
	const struct timespec now = { 0, 0 };
	uint64_t before = 0;
	uint64_t mask = 0;
	uint64_t new;
	ssize_t written;

	CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &ours, &mask, SIGNAL_SET_BYTES);
	CALL2(SYS_rt_sigpending, &before, SIGNAL_SET_BYTES);
	written = CALL3(SYS_write, fd, bytes, len);
	new = ours & ~before;
	if (new && (written == -EPIPE || written == -EFBIG))
		CALL4(SYS_rt_sigtimedwait, &new, NULL, &now, SIGNAL_SET_BYTES);
	CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, SIGNAL_SET_BYTES);
	return written;
}

int vt_sys_identify(int fd, struct vt_sys_identity *identity)
{
	struct stat status;
	int saved = errno;
	int err = fstat(fd, &status) ? -errno : 0;

	errno = saved;
	if (err)
		return err;
	identity->device = status.st_dev;
	identity->inode = status.st_ino;
	return 0;
}

uint64_t vt_sys_disk_bytes(int fd)
{
	struct stat status;
	int saved = errno;
	uint64_t bytes = fstat(fd, &status) ? 0 : (uint64_t)status.st_blocks * BLOCK_BYTES;

	errno = saved;
	return bytes;
}

static int transfer_at(long number, int fd, char *bytes, size_t len, uint64_t offset)
{
	while (len) {
		long done = CALL4(number, fd, bytes, len, offset);

		if (done == -EINTR)
			continue;
		if (done <= 0)
			return done ? (int)done : -EIO;
		bytes += done;
		offset += (uint64_t)done;
		len -= (size_t)done;
	}
	return 0;
}

int vt_sys_write_at(int fd, const void *bytes, size_t len, uint64_t offset)
{
	return transfer_at(SYS_pwrite64, fd, (char *)bytes, len, offset);
}

int vt_sys_read_at(int fd, void *bytes, size_t len, uint64_t offset)
{
	return transfer_at(SYS_pread64, fd, bytes, len, offset);
}

int vt_sys_exists(const char *path)
{
	struct stat status;
	int saved = errno;
	int err = lstat(path, &status) ? -errno : 0;

	errno = saved;
	return err;
}

int vt_sys_is_executable(const char *path)
{
	return CALL3(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

int vt_sys_unlink(const char *path)
{
	return (int)CALL3(SYS_unlinkat, AT_FDCWD, path, 0);
}

ssize_t vt_sys_readlink(const char *path, char *text, size_t size)
{
	ssize_t len = CALL4(SYS_readlinkat, AT_FDCWD, path, text, size - 1);

	text[len > 0 ? len : 0] = '\0';
	return len;
}

ssize_t vt_sys_getcwd(char *text, size_t size)
{
	return CALL2(SYS_getcwd, text, size);
}

ssize_t vt_sys_read_file(const char *path, char *text, size_t size)
{
	int fd = vt_sys_open(path, O_RDONLY, 0);
	size_t len = 0;
	ssize_t got = 0;

	if (fd < 0)
		return fd;
	while (len < size - 1) {
		got = CALL3(SYS_read, fd, text + len, size - 1 - len);
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	vt_sys_close(fd);
	text[len] = '\0';
	return got < 0 ? got : (ssize_t)len;
}

/* As much as the parts hold by one call: the kernel makes larger pages of a longer write. */
static int write_zeros(int fd, uint64_t offset, uint64_t len)
{
	static char zeros[64 << 10]; /* of .bss: reading them takes no memory */
	struct iovec parts[8];
	ssize_t done;

	while (len) {
		uint64_t left = len;
		int nr = 0;

		while (left && nr < 8) {
			size_t bytes = left < sizeof(zeros) ? left : sizeof(zeros);

			parts[nr++] = (struct iovec){ zeros, bytes };
			left -= bytes;
		}
		/* The offset's upper half is a separate argument, which 64-bit systems ignore. */
		done = CALL6(SYS_pwritev, fd, parts, nr, offset, 0, 0);
		if (done == -EINTR)
			continue;
		if (done <= 0)
			return done ? (int)done : -ENOSPC;
		offset += (uint64_t)done;
		len -= (uint64_t)done;
	}
	return 0;
}

/* The kernel answers a size beyond the limit with a signal that kills the program. */
static int may_reach(uint64_t end)
{
	struct rlimit limit;
	int saved = errno;
	int may = getrlimit(RLIMIT_FSIZE, &limit) != 0 || end <= limit.rlim_cur;

	errno = saved;
	return may;
}

int vt_sys_fill(int fd, uint64_t offset, uint64_t len)
{
	return may_reach(offset + len) ? write_zeros(fd, offset, len) : -EFBIG;
}

int vt_sys_allocate(int fd, uint64_t offset, uint64_t len)
{
	struct stat status;
	int saved = errno;
	int err;

	if (!may_reach(offset + len))
		return -EFBIG;
	do
		err = (int)CALL4(SYS_fallocate, fd, 0, offset, len);
	while (err == -EINTR);
	if (err == -EOPNOTSUPP || err == -ENOSYS) {
		/*
		 * NFS before 4.2, some FUSE: zeros take the blocks as well.  Only beyond the end:
		 * what lies before it may have been written since.
		 */
		err = 0;
		if (fstat(fd, &status) != 0)
			err = -errno;
		else if ((uint64_t)status.st_size < offset + len)
			err = write_zeros(fd, (uint64_t)status.st_size,
					  offset + len - (uint64_t)status.st_size);
	}
	errno = saved;
	return err;
}

static void *map(int fd, size_t len, int protection, int flags)
{
	long address = CALL6(SYS_mmap, NULL, len, protection, flags, fd, 0);

	return address < 0 && address > -4096 ? NULL : (void *)address;
}

int vt_sys_map_file_at(void *where, int fd, uint64_t offset, size_t len)
{
	long address = CALL6(SYS_mmap, where, len, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_FIXED_NOREPLACE, fd, offset);

	if (address < 0 && address > -4096)
		return (int)address;
	if ((void *)address == where)
		return 0;
	/* Before Linux 4.17 the place is a wish. */
	vt_sys_unmap((void *)address, len);
	return -EEXIST;
}

int vt_sys_map_file_again(void *where, int fd, uint64_t offset, size_t len)
{
	long address = CALL6(SYS_mmap, where, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			     fd, offset);

	return address < 0 && address > -4096 ? (int)address : 0;
}

void *vt_sys_map_private(size_t len)
{
	return map(-1, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
}

void *vt_sys_reserve_private(size_t len)
{
	return map(-1, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
}

void *vt_sys_reserve_file(int fd, size_t len)
{
	return map(fd, len, PROT_NONE, MAP_SHARED);
}

uint64_t vt_sys_address_space_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX
										: limit.rlim_cur;
}

int vt_sys_read_memory(void *to, const void *from, size_t len)
{
	struct iovec local = { to, len }, remote = { (void *)(uintptr_t)from, len };
	long done = CALL6(SYS_process_vm_readv, vt_sys_process_id(), &local, 1, &remote, 1, 0);

	if (done < 0)
		return (int)done;
	return (size_t)done == len ? 0 : -EFAULT;
}

int vt_sys_is_writable(void *word)
{
	uint64_t what = 0;
	struct iovec local = { &what, sizeof(what) }, remote = { word, sizeof(what) };

	return !vt_sys_read_memory(&what, word, sizeof(what)) &&
	       CALL6(SYS_process_vm_writev, vt_sys_process_id(), &local, 1, &remote, 1, 0) ==
		       sizeof(what);
}

int vt_sys_allow(void *address, size_t len)
{
	return (int)CALL3(SYS_mprotect, address, len, PROT_READ | PROT_WRITE);
}

void vt_sys_unmap(void *address, size_t len)
{
	if (address)
		CALL2(SYS_munmap, address, len);
}

int vt_sys_advise(void *address, size_t len, int advice)
{
	return (int)CALL3(SYS_madvise, address, len, advice);
}

int vt_sys_process_id(void)
{
	return (int)CALL1(SYS_getpid, 0);
}

int vt_sys_thread_id(void)
{
	return (int)CALL1(SYS_gettid, 0);
}

int vt_sys_is_alive(int pid)
{
	char path[40] = "/proc/";
	char text[512];
	char digits[12];
	const char *state;
	size_t at = 6;
	size_t nr = 0;

	if (pid <= 0)
		return 0;
	if (CALL2(SYS_kill, pid, 0) == -ESRCH)
		return 0;
	for (unsigned int rest = (unsigned int)pid; rest; rest /= 10)
		digits[nr++] = (char)('0' + rest % 10);
	while (nr)
		path[at++] = digits[--nr];
	memcpy(path + at, "/stat", 6);
	if (vt_sys_read_file(path, text, sizeof(text)) <= 0)
		return 1;
	/* "PID (NAME) S ...": the name may itself hold parentheses. */
	state = strrchr(text, ')');
	return !state || strlen(state) < 3 || (state[2] != 'Z' && state[2] != 'X');
}

void vt_sys_sleep_ns(uint64_t ns)
{
	struct timespec time = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	CALL4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
}

void vt_sys_wait(const uint32_t *word, uint32_t value)
{
	CALL4(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL);
}

void vt_sys_wake(const uint32_t *word)
{
	CALL3(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}

int vt_sys_mask_signals(int how, const void *new, void *old)
{
	return (int)CALL4(SYS_rt_sigprocmask, how, new, old, SIGNAL_SET_BYTES);
}

void vt_sys_yield(void)
{
	CALL1(SYS_sched_yield, 0);
}

uint64_t vt_sys_now_ns(int clock)
{
	struct timespec time;

	/* libc's own: it asks the vDSO, not the kernel, and never fails for these clocks. */
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int vt_sys_hostname(char *text, size_t size)
{
	struct utsname name;
	size_t len;

	if (CALL1(SYS_uname, &name) < 0)
		return -ENOENT;
	len = strnlen(name.nodename, sizeof(name.nodename));
	if (len >= size)
		len = size - 1;
	memcpy(text, name.nodename, len);
	text[len] = '\0';
	return 0;
}

/*
 * What the two processes between us and the detached program share with us: they run in our memory.
 */
struct detached {
	const char *path;
	char *const *argv;
	char *const *envp;
	char *inner_stack_top;
	int pid;		/* of the program */
	int error;		/* negative errno of what failed, 0 if it runs */
};

/* The kernel's struct sigaction, which libc's differs from; only the handler matters here. */
struct kernel_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

#define NR_SIGNALS (8 * SIGNAL_SET_BYTES)

/*
 * Host handlers must not run on this borrowed memory once the mask is lifted; ignored signals stay
 * so.
 */
static void default_signals(void)
{
	struct kernel_sigaction action;
	unsigned long none = 0;

	for (unsigned int number = 1; number <= NR_SIGNALS; number++) {
		if (CALL4(SYS_rt_sigaction, number, NULL, &action, SIGNAL_SET_BYTES) < 0 ||
		    action.handler == SIG_IGN || action.handler == SIG_DFL)
			continue;
		memset(&action, 0, sizeof(action));
		CALL4(SYS_rt_sigaction, number, &action, NULL, SIGNAL_SET_BYTES);
	}
	CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, SIGNAL_SET_BYTES);
}

/*
 * The same function as clone() in glibc.  ThreadSanitizer overrides clone(), takes the new
 * process for a fork, and notes in the memory that both share that no more threads may begin: the
 * host would die at its next one.  Weak: foreign_libc.h.
 */
int __clone(int (*run)(void *), void *stack_top, int flags, void *argument, ...)
	__attribute__((weak));

static int run_program(void *argument)
{
	struct detached *d = argument;

	default_signals();
	d->error = (int)CALL3(SYS_execve, d->path, d->argv, d->envp);
	CALL1(SYS_exit, 127);
	return 127;
}

static int leave_session(void *argument)
{
	struct detached *d = argument;

	CALL1(SYS_setsid, 0);
	/* Returns when the program runs or could not be started; our end makes it an orphan. */
	d->pid = __clone(run_program, d->inner_stack_top, CLONE_VM | CLONE_VFORK, d);
	if (d->pid < 0)
		d->error = -EAGAIN;
	CALL1(SYS_exit, 0);
	return 0;
}

/*
 * clone() with CLONE_VM | CLONE_VFORK, as posix_spawn does, copies no page tables and runs no fork
 * handlers. Exit signal 0: the host gets no SIGCHLD and a plain wait() does not see the process.
 */
int vt_sys_start_detached(const char *path, char *const argv[], char *const envp[], void *stack,
	size_t stack_size)
{
	char *base = stack;
	struct detached d = {
		.path = path,
		.argv = argv,
		.envp = envp,
		.inner_stack_top = base + stack_size / 2,
	};
	unsigned long all = ~0ul;
	unsigned long mask;
	int saved = errno;
	int pid;

	if (!__clone)
		return -ENOSYS;
	CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, SIGNAL_SET_BYTES);
	pid = __clone(leave_session, base + stack_size, CLONE_VM | CLONE_VFORK, &d);
	if (pid < 0)
		d.error = -EAGAIN;
	else
		while (CALL4(SYS_wait4, pid, NULL, __WALL, NULL) == -EINTR)
			;
	CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, SIGNAL_SET_BYTES);
	errno = saved;
	return d.error ? d.error : d.pid;
}
