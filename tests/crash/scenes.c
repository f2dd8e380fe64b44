/* SPDX-License-Identifier: MIT */
/*
 * Programs that end, fork, close and thread in every way there is: one scene per name.  Every
 * allocation has a size that tells it; what must be recorded of it is the tests' matter.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cuda_abi.h"

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "scene: line %d: %s\n", __LINE__, #condition);             \
			_exit(99);                                                                 \
		}                                                                                  \
	} while (0)

#define LATE 3333	/* size of what a destructor gives back */
#define MOST_THREADS 8
#define SHORT_LIVES 400
#define PER_LIFE 20

static struct {
	CUdeviceptr late;
	sigjmp_buf place;
} g;

static CUdeviceptr take(size_t size_bytes)
{
	CUdeviceptr address = 0;

	EXPECT(cuMemAlloc_v2(&address, size_bytes) == CUDA_SUCCESS);
	return address;
}

static void give_back(CUdeviceptr address)
{
	EXPECT(cuMemFree_v2(address) == CUDA_SUCCESS);
}

/* After main and all handlers of the program. */
__attribute__((destructor)) static void free_late(void)
{
	if (g.late)
		give_back(g.late);
}

/* A signal is no exit code. */
static void expect_end(pid_t pid, int code)
{
	int status;

	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

static void begin(void)
{
	take(1001);
	g.late = take(LATE);
}

static void by_return(void)
{
	begin();
}

static void by_exit(void)
{
	begin();
	exit(3);
}

static void by_underscore_exit(void)
{
	begin();
	_exit(4);
}

static void by_quick_exit(void)
{
	begin();
	quick_exit(5);
}

static void by_abort(void)
{
	begin();
	abort();
}

/* As the compiler does it, without one: throw 1; that nobody catches. */
static void by_exception(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	void *(*make)(size_t);
	void (*throw)(void *, void *, void (*)(void *));

	if (!library)
		_exit(77);
	*(void **)&make = dlsym(library, "__cxa_allocate_exception");
	*(void **)&throw = dlsym(library, "__cxa_throw");
	begin();
	throw(make(sizeof(int)), dlsym(library, "_ZTIi"), NULL);
}

static void by_segmentation_fault(void)
{
	volatile uintptr_t nowhere = 8;

	begin();
	*(volatile int *)nowhere = 1;
}

static void by_terminate(void)
{
	begin();
	raise(SIGTERM);
}

static void by_exec(void)
{
	begin();
	execl("/proc/self/exe", "scenes", "by_exit", NULL);
	EXPECT(!"execl");
}

/* As os.fork and os._exit do: nothing of the child's end is the parent's. */
static void by_forked_exit(void)
{
	pid_t pid;

	begin();
	pid = fork();
	if (!pid)
		_exit(6);
	expect_end(pid, 6);
	take(1002);
}

/* The child has the parent's memory: its end must not be written there as the parent's. */
static void by_vforked_exit(void)
{
	pid_t pid;

	begin();
	pid = vfork();
	if (!pid)
		_exit(6);
	expect_end(pid, 6);
	abort();
}

static void unloads_the_driver(void)
{
	__typeof__(&cuMemAlloc_v2) alloc;
	CUdeviceptr address;

	for (size_t i = 0; i < 3; i++) {
		void *driver = dlopen("libcuda.so.1", RTLD_NOW);

		EXPECT(driver);
		*(void **)&alloc = dlsym(driver, "cuMemAlloc_v2");
		EXPECT(alloc(&address, 2001 + i) == CUDA_SUCCESS);
		EXPECT(dlclose(driver) == 0);
	}
	g.late = take(LATE);
}

/* What /proc/self/fd has, on standard output. */
static void lists_descriptors(void)
{
	char path[64], target[256];

	begin();
	for (int fd = 0; fd < 4096; fd++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, target, sizeof(target) - 1);
		if (len > 0)
			printf("%d %.*s\n", fd, (int)len, target);
	}
	fflush(stdout);
}

/* A daemon's first act, at a moment when we had our file open before, and its own files after. */
static void closes_descriptors(void)
{
	char text[] = "mine-0\n", read_back[16];
	int files[8];

	begin();
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < 8; i++) {
		char name[] = "own-0";

		text[5] = name[4] = (char)('0' + i);
		files[i] = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
		EXPECT(files[i] == 3 + i);
		EXPECT(write(files[i], text, sizeof(text)) == sizeof(text));
	}
	for (int i = 0; i < 40000; i++)
		give_back(take(4000));
	for (int i = 0; i < 8; i++) {
		text[5] = (char)('0' + i);
		EXPECT(lseek(files[i], 0, SEEK_END) == sizeof(text));
		EXPECT(pread(files[i], read_back, sizeof(read_back), 0) == sizeof(text));
		EXPECT(!memcmp(read_back, text, sizeof(text)));
	}
}

static void *live_shortly(void *argument)
{
	for (size_t i = 0; i < PER_LIFE; i++)
		give_back(take((size_t)(uintptr_t)argument + i));
	return NULL;
}

/* Threads allocate while others end and new ones begin. */
static void threads_come_and_go(void)
{
	pthread_t threads[MOST_THREADS];

	for (size_t i = 0; i < SHORT_LIVES; i++) {
		pthread_t *place = &threads[i % MOST_THREADS];

		if (i >= MOST_THREADS)
			EXPECT(pthread_join(*place, NULL) == 0);
		EXPECT(pthread_create(place, NULL, live_shortly,
				      (void *)(uintptr_t)(100000 + 100 * i)) == 0);
	}
	for (size_t i = 0; i < MOST_THREADS; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
}

static void *allocate_for_ever(void *first)
{
	for (;;) {
		give_back(take(4000));
		__atomic_store_n((int *)first, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* The first event, at which the recording opens, and later ones, where no thread may have less. */
static void threads_have_small_stacks(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	EXPECT(pthread_attr_init(&attributes) == 0);
	EXPECT(pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0);
	for (size_t i = 0; i < 3; i++) {
		EXPECT(pthread_create(&thread, &attributes, live_shortly,
				      (void *)(uintptr_t)(100000 + 100 * i)) == 0);
		EXPECT(pthread_join(thread, NULL) == 0);
	}
}

/* The process ends under threads that allocate. */
static void ends_under_its_threads(void)
{
	pthread_t thread;
	static int have_begun[4];

	for (int i = 0; i < 4; i++)
		EXPECT(pthread_create(&thread, NULL, allocate_for_ever, &have_begun[i]) == 0);
	for (int i = 0; i < 4; i++)
		while (!__atomic_load_n(&have_begun[i], __ATOMIC_ACQUIRE))
			;
	exit(7);
}

static void work_early(void)
{
	give_back(take(7001));
}

/* libearly.so has a thread from before our library's constructor. */
static void thread_from_before(void)
{
	void (*work_in_thread)(void (*work)(void));

	*(void **)&work_in_thread = dlsym(RTLD_DEFAULT, "early_work_in_thread");
	EXPECT(work_in_thread);
	take(1001);
	work_in_thread(work_early);
	take(1002);
}

/* Workers that never touch the device, while their parent does. */
static void forks_workers(void)
{
	pid_t workers[4];

	begin();
	for (int i = 0; i < 4; i++) {
		workers[i] = fork();
		if (!workers[i]) {
			/* One by exit(), whose handlers include ours. */
			if (i == 0)
				exit(0);
			_exit(i);
		}
		give_back(take(5000 + (size_t)i));
	}
	for (int i = 0; i < 4; i++)
		expect_end(workers[i], i);
	take(1002);
}

static void spawns(void)
{
	char *arguments[] = { (char[]){ "scenes" }, (char[]){ "by_exit" }, NULL };
	pid_t pid;

	begin();
	pid = vfork();
	if (!pid) {
		execv("/proc/self/exe", arguments);
		_exit(98);
	}
	expect_end(pid, 3);
	take(1002);
	EXPECT(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
	expect_end(pid, 3);
	take(1003);
}

/* A launcher that has no device of its own: one program per rank. */
static void launches_ranks(void)
{
	pid_t pids[3];

	for (int i = 0; i < 3; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			char rank[2] = { (char)('0' + i), '\0' };

			setenv("RANK", rank, 1);
			execl("/proc/self/exe", "scenes", "is_a_rank", NULL);
			_exit(98);
		}
	}
	for (int i = 0; i < 3; i++)
		expect_end(pids[i], 3);
}

static void is_a_rank(void)
{
	take(8000 + (size_t)atoi(getenv("RANK")));
	exit(3);
}

/* Until it is told to go on, by a line on standard input. */
static void waits(void)
{
	begin();
	puts("begun");
	fflush(stdout);
	EXPECT(getchar() != EOF);
	take(1002);
}

/* As much again for every line on standard input. */
static void works_on_demand(void)
{
	begin();
	for (int c = getchar(); c != EOF; c = getchar()) {
		for (int i = 0; i < 10000; i++)
			give_back(take(6000));
		puts("done");
		fflush(stdout);
	}
}

static void jump(int number)
{
	(void)number;
	siglongjmp(g.place, 1);
}

/* Whatever the signal met is never finished. */
static void jumps_out(void)
{
	signal(SIGUSR1, jump);
	for (int i = 0; i < 60000; i++)
		if (!sigsetjmp(g.place, 1))
			give_back(take(4000));
}

#define SCENES(X)                                                                                  \
	X(by_return) X(by_exit) X(by_underscore_exit) X(by_quick_exit) X(by_abort) X(by_exception) \
	X(by_segmentation_fault) X(by_terminate) X(by_exec) X(by_forked_exit)                      \
	X(by_vforked_exit)                                                                         \
	X(unloads_the_driver) X(lists_descriptors) X(closes_descriptors) X(threads_come_and_go)    \
	X(threads_have_small_stacks)                                                               \
	X(ends_under_its_threads) X(thread_from_before) X(forks_workers) X(spawns)                 \
	X(launches_ranks) X(is_a_rank) X(waits) X(works_on_demand) X(jumps_out)

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenes[] = {
#define ROW(name) { #name, name },
		SCENES(ROW)
#undef ROW
	};

	for (size_t i = 0; argc > 1 && i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		if (strcmp(argv[1], scenes[i].name))
			continue;
		scenes[i].run();
		return 0;
	}
	return 98;
}
