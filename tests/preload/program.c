/* SPDX-License-Identifier: MIT */
/*
 * The traced program of test_recorder.c: one scenario per name.  Ends with 0 if everything the
 * scenario itself can see is right; what was recorded is the test's matter.  Built twice,
 * PROGRAM_IS_LINKED tells whether it is linked to the driver.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cuda_abi.h"
#include "preload/vtrace.h"
#include "tests/preload/driver.h"
#include "tests/preload/program.h"

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "program: line %d: %s\n", __LINE__, #condition);           \
			exit(99);                                                                  \
		}                                                                                  \
	} while (0)

static struct {
	void *driver;
	__typeof__(&cuMemAlloc_v2) alloc;
	__typeof__(&cuMemFree_v2) free;
	__typeof__(&cuGetProcAddress_v2) get_address;
	__typeof__(&driver_nr_calls) nr_calls;
	jmp_buf outside;
} g;

/* The file name of the object that holds an address. */
static const char *owner(const void *address)
{
	const char *slash;
	Dl_info info;

	EXPECT(address && dladdr(address, &info) && info.dli_fname);
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

static int is_hook(const void *address)
{
	return strcmp(owner(address), "libvtrace.so") == 0;
}

static void find_driver(void)
{
#ifdef PROGRAM_IS_LINKED
	g.driver = dlopen(NULL, RTLD_NOW);
	g.alloc = cuMemAlloc_v2;
	g.free = cuMemFree_v2;
	g.get_address = cuGetProcAddress_v2;
	g.nr_calls = driver_nr_calls;
#else
	g.driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	EXPECT(g.driver);
	*(void **)&g.alloc = dlsym(g.driver, "cuMemAlloc_v2");
	/* The first look-up asks the driver for much that this one has not. */
	EXPECT(!dlerror());
	*(void **)&g.free = dlsym(g.driver, "cuMemFree_v2");
	*(void **)&g.get_address = dlsym(g.driver, "cuGetProcAddress_v2");
	*(void **)&g.nr_calls = dlsym(g.driver, "driver_nr_calls");
#endif
	EXPECT(g.alloc && g.free && g.get_address);
}

static CUdeviceptr take(size_t size_bytes)
{
	CUdeviceptr address = 0;

	EXPECT(g.alloc(&address, size_bytes) == CUDA_SUCCESS);
	return address;
}

static void allocate_and_free(void)
{
	CUdeviceptr first = take(1001);
	CUdeviceptr second = take(1002);

	EXPECT(g.free(second) == CUDA_SUCCESS);
	EXPECT(g.free(first) == CUDA_SUCCESS);
	/* Our own questions included: two allocations, two frees, one cuMemGetInfo. */
	EXPECT(g.nr_calls() == 5);
}

static void look_ups_yield_hooks(void)
{
	void *address;

	EXPECT(is_hook((void *)g.alloc) && is_hook((void *)g.get_address));
	EXPECT(!is_hook(dlsym(g.driver, "cuInit")));
	/* What was looked up successfully leaves no error behind. */
	EXPECT(dlsym(g.driver, "cuMemHostAlloc") && !dlerror());
	EXPECT(!dlsym(g.driver, "cuNoSuchFunction") && dlerror());
	EXPECT(dlsym(g.driver, "cuMemAlloc_v2") == (void *)g.alloc);

	EXPECT(g.get_address("cuMemAlloc", &address, 3020, 0, NULL) == CUDA_SUCCESS);
	EXPECT(address == (void *)g.alloc);
	EXPECT(g.get_address("cuInit", &address, 12000, 0, NULL) == CUDA_SUCCESS);
	EXPECT(!is_hook(address));
	EXPECT(g.get_address("cuNoSuchFunction", &address, 12000, 0, NULL) == CUDA_ERROR_NOT_FOUND);
	EXPECT(!address);
}

/* cuGetProcAddress asked for itself: by version one of two signatures, each a hook again. */
static void look_up_looks_itself_up(void)
{
	CUdriverProcAddressQueryResult status = 9;
	__typeof__(&cuGetProcAddress_v2) second;
	__typeof__(&cuGetProcAddress) first;
	void *legacy;
	void *per_thread;

	EXPECT(g.get_address("cuGetProcAddress", (void **)&first, 11030, 0, NULL) == CUDA_SUCCESS);
	EXPECT(g.get_address("cuGetProcAddress", (void **)&second, 12000, 0, NULL) == CUDA_SUCCESS);
	EXPECT(is_hook((void *)first) && is_hook((void *)second));
	EXPECT((void *)first != (void *)second);
	EXPECT(first("cuMemAllocAsync", &legacy, 11020, 0) == CUDA_SUCCESS);
	EXPECT(second("cuMemAllocAsync", &per_thread, 11020, 2, &status) == CUDA_SUCCESS);
	EXPECT(status == CU_GET_PROC_ADDRESS_SUCCESS);
	EXPECT(is_hook(legacy) && is_hook(per_thread) && legacy != per_thread);
	EXPECT(second("cuNoSuchFunction", &legacy, 12000, 0, &status) == CUDA_SUCCESS);
	EXPECT(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND && !legacy);
	*(void **)&g.alloc = per_thread;
	EXPECT(((__typeof__(&cuMemAllocAsync))per_thread)(&(CUdeviceptr){ 0 }, 1003, NULL) ==
	       CUDA_SUCCESS);
}

static void refusals(void)
{
	CUdeviceptr address = 7;

	EXPECT(g.alloc(&address, DRIVER_TOTAL_BYTES + 1) == CUDA_ERROR_OUT_OF_MEMORY);
	EXPECT(address == 7);
	EXPECT(g.free(0) == CUDA_SUCCESS);
	take(1001);
	EXPECT(g.free(DRIVER_BAD_ADDRESS) == CUDA_ERROR_INVALID_VALUE);
}

static void errno_is_the_driver_s(void)
{
	errno = 5;
	take(1001);
	EXPECT(errno == DRIVER_ERRNO);
	errno = 5;
	g.free(DRIVER_BAD_ADDRESS);
	EXPECT(errno == DRIVER_ERRNO);
	errno = 5;
	dlsym(g.driver, "cuMemHostAlloc");
	EXPECT(errno == 5);
}

static void shapes(void)
{
	__typeof__(&cuMemAllocPitch_v2) pitch;
	__typeof__(&cuMemAllocManaged) managed;
	__typeof__(&cuMemCreate) create;
	__typeof__(&cuMemHostAlloc) host;
	__typeof__(&cuMemGetInfo_v2) info;
	CUmemAllocationProp properties = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 5 } };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;
	void *memory;
	size_t bytes;

	*(void **)&pitch = dlsym(g.driver, "cuMemAllocPitch_v2");
	*(void **)&managed = dlsym(g.driver, "cuMemAllocManaged");
	*(void **)&create = dlsym(g.driver, "cuMemCreate");
	*(void **)&host = dlsym(g.driver, "cuMemHostAlloc");
	*(void **)&info = dlsym(g.driver, "cuMemGetInfo_v2");
	EXPECT(pitch(&address, &bytes, 1000, 7, 4) == CUDA_SUCCESS && bytes == 1024);
	EXPECT(managed(&address, 1005, 1) == CUDA_SUCCESS);
	EXPECT(create(&handle, 1006, &properties, 0) == CUDA_SUCCESS);
	properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
	EXPECT(create(&handle, 1007, &properties, 0) == CUDA_SUCCESS);
	EXPECT(host(&memory, 1008, 0) == CUDA_SUCCESS);
	EXPECT(info(NULL, NULL) == CUDA_SUCCESS);
	EXPECT(info(&bytes, NULL) == CUDA_SUCCESS && bytes == DRIVER_FREE_BYTES);
}

/* A function of the driver by its exact name. */
static void *function(const char *name)
{
	void *address = dlsym(g.driver, name);

	EXPECT(address && is_hook(address));
	return address;
}
#define CALL(name, ...) ((__typeof__(&name))function(#name))(__VA_ARGS__)

static void arrays(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = { 100, 7, CU_AD_FORMAT_HALF, 2 };
	CUDA_ARRAY3D_DESCRIPTOR cube = { 64, 32, 4, CU_AD_FORMAT_FLOAT, 4, 0 };
	CUmipmappedArray levels;
	CUarray array;

	EXPECT(CALL(cuArrayCreate_v2, &array, &flat) == CUDA_SUCCESS);
	EXPECT(CALL(cuArrayDestroy, array) == CUDA_SUCCESS);
	EXPECT(CALL(cuArray3DCreate_v2, &array, &cube) == CUDA_SUCCESS);
	EXPECT(CALL(cuMipmappedArrayCreate, &levels, &cube, 3) == CUDA_SUCCESS);
	cube.Flags = CUDA_ARRAY3D_SPARSE;
	EXPECT(CALL(cuArray3DCreate_v2, &array, &cube) == CUDA_SUCCESS);
}

static void contexts(void)
{
	CUcontext context;

	/* Before the recording: counted, not recorded. */
	EXPECT(CALL(cuDevicePrimaryCtxRetain, &context, 0) == CUDA_SUCCESS);
	take(1001);
	EXPECT(CALL(cuDevicePrimaryCtxRetain, &context, 0) == CUDA_SUCCESS);
	EXPECT(CALL(cuDevicePrimaryCtxRelease_v2, 0) == CUDA_SUCCESS);
	EXPECT(CALL(cuCtxCreate_v2, &context, 0, 3) == CUDA_SUCCESS);
	EXPECT(CALL(cuCtxDestroy_v2, context) == CUDA_SUCCESS);
	EXPECT(CALL(cuCtxDestroy_v2, DRIVER_CONTEXT) == CUDA_ERROR_INVALID_CONTEXT);
	EXPECT(CALL(cuDevicePrimaryCtxRelease_v2, 0) == CUDA_SUCCESS);
	/* One too many. */
	EXPECT(CALL(cuDevicePrimaryCtxRelease_v2, 0) == CUDA_SUCCESS);
	for (int i = 0; i < 3; i++)
		EXPECT(CALL(cuDevicePrimaryCtxRetain, &context, DRIVER_BAD_DEVICE) == 0);
	EXPECT(CALL(cuDevicePrimaryCtxReset_v2, DRIVER_BAD_DEVICE) != CUDA_SUCCESS);
	for (int i = 0; i < 3; i++)
		EXPECT(CALL(cuDevicePrimaryCtxRelease_v2, DRIVER_BAD_DEVICE) == CUDA_SUCCESS);
}

/* A context on one of several devices, and nothing allocated on it. */
static void several(void)
{
	CUcontext context;

	EXPECT(CALL(cuDevicePrimaryCtxRetain, &context, 0) == CUDA_SUCCESS);
	EXPECT(setenv(DRIVER_DEVICES, "2", 1) == 0);
	EXPECT(CALL(cuDevicePrimaryCtxRetain, &context, 1) == CUDA_SUCCESS);
	EXPECT(CALL(cuDevicePrimaryCtxRetain, &context, 1) == CUDA_SUCCESS);
}

/* Without a driver our exports must not look like one. */
static void no_driver(void)
{
	EXPECT(!dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") && dlerror());
	EXPECT(!dlsym(dlopen(NULL, RTLD_NOW), "cuMemAlloc_v2") && dlerror());
	EXPECT(!dlsym(RTLD_DEFAULT, "cuNoSuchFunction") && dlerror());
	EXPECT(dlsym(RTLD_DEFAULT, "printf") == (void *)printf && !dlerror());
	if (vtrace_mark)
		vtrace_mark("before any allocation");
}

static void next_depends_on_the_caller(void)
{
	void *first = dlopen("libthird1.so", RTLD_NOW | RTLD_GLOBAL);
	void *second = dlopen("libthird2.so", RTLD_NOW | RTLD_GLOBAL);
	int (*next)(void);

	EXPECT(first && second);
	*(void **)&next = dlsym(first, "third_next_number");
	EXPECT(next() == 2);
	*(void **)&next = dlsym(second, "third_next_number");
	EXPECT(next() == 0);
}

static void driver_callers_get_the_real_thing(void)
{
	void *library = dlopen("libnvidia-third.so", RTLD_NOW);
	void *(*look_up)(void *, const char *);

	EXPECT(library);
	*(void **)&look_up = dlsym(library, "third_look_up");
	EXPECT(strncmp(owner(look_up(g.driver, "cuMemAlloc_v2")), "libcuda", 7) == 0);
	EXPECT(is_hook((void *)g.alloc));
}

/* The second library answers dlsym with its own function: that one is called, once. */
static void second_library_is_asked(void)
{
	unsigned int (*nr_allocations)(void);
	unsigned int (*nr_look_ups)(void);

	*(void **)&nr_allocations = dlsym(RTLD_DEFAULT, "second_nr_allocations");
	*(void **)&nr_look_ups = dlsym(RTLD_DEFAULT, "second_nr_look_ups");
	EXPECT(nr_look_ups() > 0);
	take(1001);
	EXPECT(nr_allocations() == 1);
}

static void chained_library_is_asked(void)
{
	unsigned int (*nr_allocations)(void);

	*(void **)&nr_allocations = dlsym(RTLD_DEFAULT, "chained_nr_allocations");
	take(1001);
	EXPECT(nr_allocations() == 1);
}

/* Its _exit adds 1. */
static void chained_library_ends(void)
{
	take(1001);
	_exit(6);
}

/* It sees the look-ups, wherever it stands; what comes back is a hook all the same. */
static void chaining_library_is_asked(void)
{
	unsigned int (*nr_look_ups)(void);
	unsigned int before;

	*(void **)&nr_look_ups = dlsym(RTLD_DEFAULT, "first_nr_look_ups");
	before = nr_look_ups();
	EXPECT(is_hook(dlsym(g.driver, "cuMemHostAlloc")) && nr_look_ups() == before + 1);
	EXPECT(g.free(take(1001)) == CUDA_SUCCESS);
}

/* The look-up behind us hands out our own hooks: they come back as they are, and work. */
static void hooks_are_not_wrapped_again(void)
{
	unsigned int before = g.nr_calls();
	void *address = dlsym(g.driver, "cuMemAlloc_v2");

	EXPECT(is_hook(address) && address == dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
	EXPECT(g.free(take(1001)) == CUDA_SUCCESS);
	/* With what we ask once about a device: each reached the driver once. */
	EXPECT(g.nr_calls() == before + 3);
}

/* Programs that look for a driver, find it, and let go of it again. */
static void driver_stays_loaded(void)
{
	EXPECT(dlclose(g.driver) == 0);
	take(1001);
	EXPECT(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
}

/* How it was bound before is what it would have called without us. */
static void opens_deeply(const char *library, int flags, size_t size_bytes)
{
	void *deep = dlopen(library, flags | RTLD_DEEPBIND);
	void *(*look_up)(void *, const char *);
	__typeof__(&cuMemAlloc_v2) alloc;
	CUdeviceptr address;

	EXPECT(deep);
	*(void **)&look_up = dlsym(deep, "deep_look_up");
	*(void **)&alloc = dlsym(deep, "deep_alloc");
	EXPECT(is_hook(look_up(g.driver, "cuMemAlloc_v2")));
	EXPECT(look_up(g.driver, "driver_nr_calls") == (void *)g.nr_calls);
	EXPECT(!look_up(RTLD_DEFAULT, "no_such_function") && dlerror());
	EXPECT(alloc(&address, size_bytes) == CUDA_SUCCESS);
	EXPECT(g.free(address) == CUDA_SUCCESS);
	EXPECT(dlclose(deep) == 0);
}

static void deeply_bound_libraries_are_seen(void)
{
	opens_deeply("libdeep_lazy.so", RTLD_LAZY, 1001);
	opens_deeply("libdeep_lazy.so", RTLD_NOW, 1002);
	opens_deeply("libdeep_now.so", RTLD_LAZY, 1003);
	opens_deeply("libdeep_now.so", RTLD_NOW | RTLD_GLOBAL, 1004);
}

static void opener_s_own_path_is_searched(void)
{
	void *(*open)(const char *, int);

	*(void **)&open = dlsym(dlopen("libthird1.so", RTLD_NOW), "third_open");
	EXPECT(!dlopen("libhidden.so", RTLD_NOW) && dlerror());
	EXPECT(dlclose(open("libhidden.so", RTLD_NOW)) == 0);
	EXPECT(open("libhidden.so", RTLD_NOW | RTLD_DEEPBIND));
}

static void jump_out(void)
{
	longjmp(g.outside, 1);
}

/* Far below the frames of what is called next, whatever the sizes of the hooks' own frames are. */
static __attribute__((noinline)) void free_deep_in_the_stack(CUdeviceptr address)
{
	volatile char room[4096];

	room[0] = 0;
	g.free(address);
	room[1] = room[0];
}

/*
 * As an exception or a cancellation does: the hook's own end is never reached.  guard.c notices
 * from a frame that is not below.
 */
static void hook_is_left_by_a_jump(void)
{
	__typeof__(&driver_call_in_free) call_in_free;

	*(void **)&call_in_free = dlsym(g.driver, "driver_call_in_free");
	call_in_free(jump_out);
	if (!setjmp(g.outside))
		free_deep_in_the_stack(take(1001));
	take(1002);
}

static void *allocate_much(void *unused)
{
	for (int i = 0; i < PROGRAM_PER_THREAD; i++)
		EXPECT(g.free(take(4096)) == CUDA_SUCCESS);
	return unused;
}

static void threads(void)
{
	pthread_t thread[PROGRAM_THREADS];

	for (int i = 0; i < PROGRAM_THREADS; i++)
		EXPECT(pthread_create(&thread[i], NULL, allocate_much, NULL) == 0);
	for (int i = 0; i < PROGRAM_THREADS; i++)
		pthread_join(thread[i], NULL);
}

/* Daemons close everything and open their own; none of our bytes may land there. */
static void descriptors_are_not_ours(void)
{
	int files[8];

	take(1001);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < 8; i++) {
		char name[] = "own-0";

		name[4] = (char)('0' + i);
		files[i] = open(name, O_RDWR | O_CREAT, 0600);
		EXPECT(files[i] == 3 + i);
	}
	for (int i = 0; i < PROGRAM_THREADS; i++)
		allocate_much(NULL);
	for (int i = 0; i < 8; i++)
		EXPECT(lseek(files[i], 0, SEEK_END) == 0);
}

static void wait_for(pid_t pid)
{
	int status;

	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static int is_journal_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int is_found = 0;

	EXPECT(maps);
	while (fgets(line, sizeof(line), maps))
		is_found |= strstr(line, "/run.journal") != NULL;
	fclose(maps);
	return is_found;
}

static void children(void)
{
	pid_t pid;

	take(1001);
	EXPECT(is_journal_mapped());
	pid = fork();
	if (!pid) {
		EXPECT(!is_journal_mapped());
		exit(0);
	}
	wait_for(pid);
	pid = fork();
	if (!pid) {
		take(2001);
		take(2002);
		exit(0);
	}
	wait_for(pid);
	/* A fork that runs no handlers. */
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		take(3001);
		_exit(0);
	}
	wait_for(pid);
	take(1002);
}

static void next_program(void)
{
	take(1001);
	execl("/proc/self/exe", "program", "allocate_and_free", NULL);
	EXPECT(!"execl");
}

static int lowest_free_descriptor(void)
{
	int fd = dup(2);

	close(fd);
	return fd;
}

/* Nobody else is to be seen in the host: no child, no signal, no descriptor. */
static void no_child_of_ours(void)
{
	int descriptor = lowest_free_descriptor();
	sigset_t pending;

	sigemptyset(&pending);
	sigaddset(&pending, SIGCHLD);
	sigprocmask(SIG_BLOCK, &pending, NULL);
	take(1001);
	EXPECT(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
	EXPECT(sigpending(&pending) == 0 && !sigismember(&pending, SIGCHLD));
	EXPECT(lowest_free_descriptor() == descriptor);
}

static void marks(void)
{
	VTRACE_MARK("at the start");
	take(1001);
	VTRACE_MARK("after one");
	take(1002);
	VTRACE_MARK("after one");
}

static void unseen_end(void)
{
	take(1001);
	abort();
}

static void status_three(void)
{
	take(1001);
	exit(3);
}

static void other_stderr(void)
{
	take(1001);
	dup2(open("own-stderr", O_RDWR | O_CREAT, 0600), 2);
}

static void nobody_reads_stderr(void)
{
	int ends[2];

	EXPECT(pipe(ends) == 0 && dup2(ends[1], 2) == 2);
	close(ends[0]);
	close(ends[1]);
	take(1001);
}

/* Less address space than the tables of a recording need. */
static void address_space_is_short(void)
{
	struct rlimit limit = { 64u << 20, 64u << 20 };

	EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
	take(1001);
}

/* What the program could have had without us, but for a part. */
static void address_space_is_left(void)
{
	const size_t room = (size_t)72 << 30;
	struct rlimit limit = { room, room };
	void *memory;

	EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
	take(1001);
	memory = mmap(NULL, room / 4 * 3, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(memory != MAP_FAILED);
}

static size_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	size_t pages = 0;

	EXPECT(file && fscanf(file, "%zu", &pages) == 1);
	fclose(file);
	return pages * 4096;
}

/* A little of 8 GiB, of which the recorder could have an eighth. */
static void address_space_is_taken_as_needed(void)
{
	struct rlimit limit = { 8ull << 30, 8ull << 30 };
	size_t before = address_space();

	EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
	take(1001);
	EXPECT(address_space() - before < 256u << 20);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		int needs_driver;
	} scenarios[] = {
#define ROW(name) { #name, name, 1 },
		PROGRAM_SCENARIOS(ROW)
#undef ROW
		{ "no_driver", no_driver, 0 },
		{ "next_depends_on_the_caller", next_depends_on_the_caller, 0 },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (strcmp(argv[1], scenarios[i].name) != 0)
			continue;
		if (scenarios[i].needs_driver)
			find_driver();
		scenarios[i].run();
		return 0;
	}
	return 98;
}
