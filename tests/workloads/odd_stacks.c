/* SPDX-License-Identifier: MIT */
/*
 * Allocations under stacks that cannot be followed: 3 MiB below code that was made at run time and
 * keeps no frame pointer, 5 MiB below 200 frames, 7 MiB below a few, 9 MiB below a function whose
 * unwind information leads to memory that is not there, 11 and 13 MiB through two libraries of
 * which the second is where the first was.  The code made at run time is then where both were.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include "common/cuda_abi.h"

#define MIB (1ull << 20)
#define DEPTH 200

#define CALLS(X) X(cuInit) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuMemAlloc_v2)

#define MEMBER(name) __typeof__(name) *name;
static struct {
	CALLS(MEMBER)
} g;

typedef void (*jit_fn)(void (*function)(void *argument), void *argument, void *frame_pointer);

#if defined(__x86_64__)
/* push %rbp; mov %rdx,%rbp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; pop %rbp; ret */
static const unsigned char jit_code[] = {
	0x55, 0x48, 0x89, 0xd5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3,
};
#else
static const unsigned char jit_code[1];
#endif

static __attribute__((noinline)) void take(void *size)
{
	CUdeviceptr pointer;

	g.cuMemAlloc_v2(&pointer, *(size_t *)size);
}

static __attribute__((noinline)) void go_down(size_t size, volatile int depth)
{
	if (depth)
		go_down(size, depth - 1);
	else
		take(&size);
	/* Else it would be a jump. */
	__asm__ volatile("" ::: "memory");
}

/* Returns 0, or 1 where the code cannot be made at that place. */
static int take_below_made_code(void *place)
{
	char *code = mmap(place, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	size_t size = 3 * MIB;
	jit_fn jit;

	if (code == MAP_FAILED)
		return 1;
	memcpy(code, jit_code, sizeof(jit_code));
	memcpy(&jit, &code, sizeof(jit));
	jit(take, &size, (void *)8);
	return 0;
}

/* misled(function, argument): says that its frame is where %rbp points, which is nowhere. */
#if defined(__x86_64__)
__asm__(".text\n"
	".type misled, @function\n"
	"misled:\n"
	".cfi_startproc\n"
	"pushq %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"movq $0x123450, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"movq %rdi, %rax\n"
	"movq %rsi, %rdi\n"
	"call *%rax\n"
	".cfi_def_cfa %rsp, 16\n"
	"popq %rbp\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size misled, . - misled\n");
void misled(void (*function)(void *argument), void *argument);
#else
static void misled(void (*function)(void *argument), void *argument)
{
	function(argument);
}
#endif

static void take_below_wrong_information(void)
{
	size_t size = 9 * MIB;

	misled(take, &size);
}

/* Returns where the library's function was. */
static void *take_through(const char *name, size_t size)
{
	void *library = dlopen(name, RTLD_NOW);
	void (*through)(void (*function)(void *argument), void *argument);

	*(void **)&through = library ? dlsym(library, "through") : NULL;
	if (!through)
		return NULL;
	through(take, &size);
	dlclose(library);
	return (void *)through;
}

/* Returns the page where the code of both was, which nothing is loaded at any more. */
static void *libraries_take_each_other_s_place(void)
{
	char *first = take_through("libframe_library_1.so", 11 * MIB);

	if (!first || take_through("libframe_library_2.so", 13 * MIB) != first)
		return NULL;
	return first - (uintptr_t)first % 4096;
}

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext context;
	void *place;

#define FIND(name) g.name = driver ? (__typeof__(name) *)dlsym(driver, #name) : NULL;
	CALLS(FIND)
	if (!g.cuMemAlloc_v2 || g.cuInit(0) || g.cuDevicePrimaryCtxRetain(&context, 0) ||
	    g.cuCtxSetCurrent(context))
		return 1;
	go_down(7 * MIB, 2);
	go_down(5 * MIB, DEPTH);
	place = libraries_take_each_other_s_place();
	if (!place)
		return 2;
	take_below_wrong_information();
	return take_below_made_code(place);
}
