/* SPDX-License-Identifier: MIT */
/*
 * libunwind as the recorder needs it: right after dlclose and dlopen at the same address, in every
 * thread, safe with a frame pointer that points nowhere, and without a descriptor of its own.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "probe.h"

#define MAX_FRAMES 64

typedef void (*frame_call_fn)(void (*function)(void *argument), void *argument);

struct stack {
	void *addresses[MAX_FRAMES];
	int nr_frames;
};

static void take_stack(void *argument)
{
	struct stack *stack = argument;

	stack->nr_frames = probe_backtrace(stack->addresses, MAX_FRAMES);
}

/* Load a library, take a stack through its frame_call, unload it.  Returns where frame_call was. */
static __attribute__((noinline)) void *stack_through(const char *path, struct stack *stack)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *address = library ? dlsym(library, "frame_call") : NULL;
	frame_call_fn frame_call;

	if (!address)
		return NULL;
	*(void **)&frame_call = address;
	probe_flush();
	frame_call(take_stack, stack);
	dlclose(library);
	return address;
}

static char elsewhere[] =
	"the second library does not lie where the first one was: nothing tested";

/* Linux uses the address again; the user mode of qemu, for other processors, does not. */
static void judge(const char *wrong)
{
#if !defined(__x86_64__)
	if (wrong == elsewhere) {
		print_message("%s\n", wrong);
		skip();
	}
#endif
	if (wrong)
		fail_msg("%s", wrong);
}

/*
 * Two stacks from the same call site are equal, although the library between was another one.
 * Returns what was wrong, or NULL: cmocka's assertions only work in the main thread.
 */
static void *stacks_around_a_reload(void *argument)
{
	static const char *const paths[] = { FIRST_LIBRARY, SECOND_LIBRARY };
	struct stack stacks[2];
	void *where[2];

	(void)argument;
	/* volatile keeps it one call site: unrolled, the stacks would differ in this very frame. */
	for (volatile int i = 0; i < 2; i++)
		where[i] = stack_through(paths[i], &stacks[i]);
	if (!where[0] || where[0] != where[1])
		return elsewhere;
	if (stacks[0].nr_frames < 4)
		return "the first stack is too short";
	if (stacks[0].nr_frames != stacks[1].nr_frames)
		return "the second stack has another length";
	if (memcmp(stacks[0].addresses, stacks[1].addresses,
		   (size_t)stacks[0].nr_frames * sizeof(void *)) != 0)
		return "the second stack has other frames";
	return NULL;
}

static void stack_is_whole_after_a_library_was_replaced(void **state)
{
	(void)state;
	judge(stacks_around_a_reload(NULL));
}

static void stack_is_whole_in_another_thread_too(void **state)
{
	pthread_t thread;
	void *wrong;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, stacks_around_a_reload, NULL), 0);
	assert_int_equal(pthread_join(thread, &wrong), 0);
	judge(wrong);
}

#if defined(__x86_64__)
/*
 * Code without unwind information, as a JIT compiler makes it, with a frame pointer that is none:
 * push %rbp; mov %rdx,%rbp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; pop %rbp; ret
 */
static const unsigned char jit_code[] = {
	0x55, 0x48, 0x89, 0xd5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3,
};

static unsigned nr_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned nr = 0;

	assert_non_null(directory);
	while (readdir(directory))
		nr++;
	closedir(directory);
	return nr;
}

typedef void (*jit_fn)(void (*function)(void *argument), void *argument, void *frame_pointer);

static void bad_frame_pointer_is_survived_without_a_descriptor(void **state)
{
	const size_t page_bytes = 4096;
	unsigned before = nr_descriptors();
	struct stack stack = { .nr_frames = -1 };
	char *code = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	jit_fn jit;

	(void)state;
	assert_ptr_not_equal(code, MAP_FAILED);
	memcpy(code, jit_code, sizeof(jit_code));
	assert_int_equal(mprotect(code + page_bytes, page_bytes, PROT_NONE), 0);
	*(void **)&jit = code;

	jit(take_stack, &stack, code + page_bytes + 64);

	assert_true(stack.nr_frames >= 2);
	assert_in_range((uintptr_t)stack.addresses[1], (uintptr_t)code,
			(uintptr_t)code + sizeof(jit_code));
	assert_int_equal(nr_descriptors(), before);
	munmap(code, 2 * page_bytes);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		/* First: a descriptor would be opened once and then stay. */
		cmocka_unit_test(bad_frame_pointer_is_survived_without_a_descriptor),
#endif
		cmocka_unit_test(stack_is_whole_after_a_library_was_replaced),
		cmocka_unit_test(stack_is_whole_in_another_thread_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
