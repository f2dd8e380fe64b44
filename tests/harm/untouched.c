/* SPDX-License-Identifier: MIT */
/*
 * Calls everything that the recorder stands in front of and looks at what a program could notice:
 * the result, errno, dlerror(), the signal mask, the memory that its arguments point to, handlers
 * of signals, and that the real function is called once, with errno and mask as the program had
 * them.
 *
 *   untouched first          every function as the first one of a process
 *   untouched again          all of them, in one process
 *   untouched after NUMBER   the same after so many allocations
 *   untouched gone NUMBER    the same, with the folder that is recorded into removed at the start
 *   untouched pools          what is asked about pools, and that nothing is once they are gone
 *   untouched late LIBRARY   the library that could not be opened is there when the hook is called
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harm/answers.h"

#define NR_ARGUMENTS 8
#define PAGE 4096u
/* The lower half is small, so that an argument is a number as well as an address. */
#define MEMORY ((unsigned char *)0x200000000)

#define PROGRAM_ERRNO 55
#define DRIVER_ERRNO 77
#define MISSING_LIBRARY "libno-such-thing.so"
#define MISSING_SYMBOL "no_such_thing"

#define VT_CUDA_API(id, name, version, kind, op) any_function name;
#define VT_FRAMEWORK_API(id, name, kind, op)
#include "common/cuda_api.def"
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API
#define TORCH(name) any_function torch_##name __asm__(VT_TORCH_##name);
TORCH_CALLS(TORCH)
#undef TORCH

static const struct row {
	const char *name;
	any_function *call;
	int is_torch;
} rows[] = {
#define VT_CUDA_API(id, name, version, kind, op) [ROW_##name] = { #name, name, 0 },
#define VT_FRAMEWORK_API(id, name, kind, op)
#include "common/cuda_api.def"
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API
#define TORCH(name) [ROW_##name] = { #name, torch_##name, 1 },
	TORCH_CALLS(TORCH)
#undef TORCH
};

/* The results of a driver that matter to a program: success, and those it may survive or not. */
static const unsigned int results[] = { 0, 2, 4, 201, 700, 999 };

/* Which error of the loader is waiting to be asked for. */
enum pending { PENDING_NONE, PENDING_LIBRARY, PENDING_SYMBOL, PENDING_ELSEWHERE, NR_PENDING };

static struct {
	char said[NR_PENDING][256];	/* what dlerror() says then */
	void *driver;
	sigset_t mask;
	struct sigaction actions[NSIG];
	uint64_t next_address;
	const char *name;	/* of the function under test */
	unsigned int result;
} g = { .next_address = 0x10000000 };

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "untouched: %s, result %u: %s\n", g.name, g.result,        \
				#condition);                                                       \
			exit(99);                                                                  \
		}                                                                                  \
	} while (0)

static void leave_error(enum pending pending)
{
	if (pending == PENDING_LIBRARY)
		dlopen(MISSING_LIBRARY, RTLD_NOW);
	else if (pending == PENDING_SYMBOL)
		dlsym(RTLD_DEFAULT, MISSING_SYMBOL);
	else if (pending == PENDING_ELSEWHERE)
		dlsym(g.driver, MISSING_SYMBOL);
	else
		dlerror();
}

static void learn_what_is_usual(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &g.mask);
	for (int i = 1; i < NSIG; i++)
		sigaction(i, NULL, &g.actions[i]);
	g.driver = dlopen("libcuda.so.1", RTLD_LAZY);
	for (int i = PENDING_LIBRARY; i < NR_PENDING; i++) {
		leave_error((enum pending)i);
		strncpy(g.said[i], dlerror(), sizeof(g.said[i]) - 1);
	}
	EXPECT(mmap(MEMORY, (size_t)NR_ARGUMENTS * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MEMORY);
}

static int is_hook(const struct row *row)
{
	Dl_info info;

	return dladdr((const void *)row->call, &info) && info.dli_fname &&
	       strstr(info.dli_fname, "libvtrace.so");
}

/* What arguments point to: a new address first, then numbers that choose between ways of a hook. */
static void fill_memory(uint32_t number)
{
	uint32_t *words = (uint32_t *)MEMORY;

	for (size_t i = 0; i < NR_ARGUMENTS * PAGE / sizeof(*words); i++)
		words[i] = number;
	g.next_address += 0x10000;
	if (!number)
		memcpy(MEMORY, &g.next_address, sizeof(g.next_address));
}

static uint64_t call(const struct row *row, int64_t size)
{
	uintptr_t at[NR_ARGUMENTS];

	if (row->is_torch)
		return row->call(g.next_address, (uintptr_t)size, 1, 1, 1, 1, 1, 1);
	for (size_t i = 0; i < NR_ARGUMENTS; i++)
		at[i] = (uintptr_t)(MEMORY + i * PAGE);
	/* The pool that cuMemAllocFromPoolAsync is given. */
	if (row == &rows[ROW_cuMemPoolDestroy])
		at[0] = at[2];
	return row->call(at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]);
}

static int are_masks_equal(const sigset_t *one, const sigset_t *other)
{
	for (int i = 1; i < NSIG; i++)
		if (sigismember(one, i) != sigismember(other, i))
			return 0;
	return 1;
}

static void check(enum answer_row which, unsigned int result, enum pending pending, int error,
		  uint32_t number)
{
	static unsigned char before[NR_ARGUMENTS * PAGE];
	const struct row *row = &rows[which];
	struct answers *real = answers();
	const char *said;
	sigset_t mask;
	uint64_t got;
	int left;

	g.name = row->name;
	g.result = result;
	fill_memory(number);
	memcpy(before, MEMORY, sizeof(before));
	real->result = result;
	real->error = error;
	real->nr_calls[which] = 0;
	leave_error(pending);
	errno = PROGRAM_ERRNO;
	got = call(row, number ? -4096 : 4096);
	left = errno;
	said = dlerror();
	pthread_sigmask(SIG_BLOCK, NULL, &mask);

	EXPECT(real->nr_calls[which] == 1);
	EXPECT(left == (error ? error : PROGRAM_ERRNO));
	EXPECT(real->error_seen[which] == PROGRAM_ERRNO);
	EXPECT(!said == !pending);
	/* Nothing of others is opened or asked again: such an error comes back inside another. */
	EXPECT(!said || (pending == PENDING_SYMBOL ? strcmp(said, g.said[pending]) == 0
						   : strstr(said, g.said[pending]) != NULL));
	EXPECT(are_masks_equal(&mask, &g.mask));
	EXPECT(are_masks_equal(&real->mask_seen[which], &g.mask));
	EXPECT(memcmp(before, MEMORY, sizeof(before)) == 0);
	EXPECT(real->capture_mode == 0);
	/* PyTorch's reports return nothing. */
	if (!row->is_torch)
		EXPECT((unsigned int)got == result);
}

static void check_handlers(void)
{
	g.name = "any";
	for (int i = 1; i < NSIG; i++) {
		struct sigaction now = { 0 };

		sigaction(i, NULL, &now);
		EXPECT(now.sa_handler == g.actions[i].sa_handler);
	}
}

static void check_all(void)
{
	static const uint32_t numbers[] = { 0, 1, 10 };

	for (int row = 0; row < NR_ROWS; row++)
		for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
			for (int pending = 0; pending < NR_PENDING; pending++)
				for (size_t n = 0; n < 3; n++)
					check((enum answer_row)row, results[i],
					      (enum pending)pending, n == 1 ? 0 : DRIVER_ERRNO,
					      numbers[n]);
	check_handlers();
}

/* A process each: the recording begins, and every address is looked up, in that call. */
static void check_each_first(void)
{
	for (int row = 0; row < NR_ROWS; row++) {
		for (int way = 0; way < 2 * NR_PENDING; way++) {
			int status;
			pid_t pid = fork();

			if (!pid) {
				check((enum answer_row)row, way < NR_PENDING ? 0 : 2,
				      (enum pending)(way % NR_PENDING), 0, 0);
				check_handlers();
				_exit(0);
			}
			g.name = rows[row].name;
			EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
		}
	}
}

static unsigned int questions_of(enum answer_row row)
{
	unsigned int before = answers()->nr_questions;

	check(row, 0, PENDING_SYMBOL, 0, 0);
	return answers()->nr_questions - before;
}

/* Pools are asked with the loader's error and errno of the program waiting, the destroyed never. */
static void check_pools(void)
{
	static const enum answer_row ends[] = {
		ROW_cuMemPoolDestroy,
		ROW_cuDevicePrimaryCtxReset,
		ROW_cuDevicePrimaryCtxReset_v2,
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		unsigned int expected = getenv("LD_PRELOAD") ? 2 : 0;

		/* A new pool, then again: what it holds, and what of that is used. */
		EXPECT(questions_of(ROW_cuMemAllocFromPoolAsync) == expected);
		EXPECT(questions_of(ROW_cuCtxSynchronize) == expected);
		check(ends[i], 999, PENDING_NONE, 0, 0);
		EXPECT(questions_of(ROW_cuCtxSynchronize) == expected);
		check(ends[i], 0, PENDING_NONE, 0, 0);
		EXPECT(questions_of(ROW_cuCtxSynchronize) == 0);
	}
}

static void remove_folder(const char *path)
{
	char file[1024];
	struct dirent *entry;
	DIR *folder = opendir(path);

	while (folder && (entry = readdir(folder))) {
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		unlink(file);
	}
	closedir(folder);
	rmdir(path);
}

/* An error is made again, what led to it is not. */
static void check_late(const char *library)
{
	const struct row *row = &rows[ROW_cuMemAlloc_v2];
	const char *path = "./late.so", *said;

	g.name = row->name;
	EXPECT(!dlopen(path, RTLD_LAZY) && symlink(library, path) == 0);
	fill_memory(0);
	call(row, 4096);
	said = dlerror();
	EXPECT(said && strstr(said, path));
	EXPECT(!dlopen(path, RTLD_LAZY | RTLD_NOLOAD));
	EXPECT(dlopen(path, RTLD_LAZY));
}

static void allocate(int number)
{
	for (int i = 0; i < number; i++)
		check(ROW_cuMemAlloc_v2, 0, PENDING_NONE, 0, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int number = argc > 2 ? atoi(argv[2]) : 0;

	g.name = "start";
	learn_what_is_usual();
	for (int i = 0; getenv("LD_PRELOAD") && i < NR_ROWS; i++) {
		g.name = rows[i].name;
		EXPECT(is_hook(&rows[i]));
	}
	if (strcmp(mode, "first") == 0) {
		check_each_first();
		return 0;
	}
	if (strcmp(mode, "late") == 0) {
		check_late(argv[2]);
		return 0;
	}
	if (strcmp(mode, "pools") == 0) {
		check_pools();
		return 0;
	}
	if (strcmp(mode, "gone") == 0) {
		allocate(1);
		remove_folder(getenv("UNTOUCHED_FOLDER"));
	}
	allocate(number);
	check_all();
	return 0;
}
