/* SPDX-License-Identifier: MIT */
/* Local memory: what a kernel's image says that each thread needs, for all threads of the card. */
#include "tests/simulator/child.h"

#include <elf.h>
#include <string.h>

/* An H100 holds 132 x 2048 threads; the first KiB of each is the context's. */
#define THREADS	  (132 * 2048ULL)
#define CONTEXT	  (522 * MIB)
#define FIRST	  1024
#define FRAME	  1888
#define UP(bytes) (((bytes) + 2 * MIB - 1) / (2 * MIB) * (2 * MIB))

static const char names[] = "\0small\0large";

/* Device code as a compiler at run time loads it, with two kernels and what is read of them. */
static struct image {
	Elf64_Ehdr head;
	struct entry {
		uint8_t format, attribute;
		uint16_t size;
		uint32_t kernel, bytes;
	} info[3];
	Elf64_Sym symbols[3];
	char names[sizeof(names)];
	Elf64_Shdr sections[4] __attribute__((aligned(8)));
} image;

static void make_image(void)
{
	static const unsigned char magic[] = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB };

	memcpy(image.head.e_ident, magic, sizeof(magic));
	memcpy(image.names, names, sizeof(names));
	image.head.e_machine = 190;
	image.head.e_shentsize = sizeof(Elf64_Shdr);
	image.head.e_shnum = 4;
	image.head.e_shoff = offsetof(struct image, sections);
	image.info[0] = (struct entry){ 4, 0x12, 8, 1, 96 };
	image.info[1] = (struct entry){ 4, 0x11, 8, 2, 7 }; /* a frame without what it calls */
	image.info[2] = (struct entry){ 4, 0x12, 8, 2, FRAME };
	image.symbols[1].st_name = 1;
	image.symbols[2].st_name = 7;
	image.sections[1] = (Elf64_Shdr){ .sh_type = 0x70000000,
					  .sh_offset = offsetof(struct image, info),
					  .sh_size = sizeof(image.info) };
	image.sections[2] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
					  .sh_link = 3,
					  .sh_offset = offsetof(struct image, symbols),
					  .sh_size = sizeof(image.symbols) };
	image.sections[3] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					  .sh_offset = offsetof(struct image, names),
					  .sh_size = sizeof(image.names) };
}

static CUfunction load(const char *kernel, int local_bytes)
{
	CUfunction function;
	CUmodule module;
	int value;

	CHECK_RC(CUDA_SUCCESS, cuModuleLoadData(&module, &image));
	CHECK_RC(CUDA_SUCCESS, cuModuleGetFunction(&function, module, kernel));
	CHECK_RC(CUDA_SUCCESS,
		 cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function));
	CHECK_EQUAL(local_bytes, value);
	return function;
}

static CUresult launch(CUfunction function)
{
	return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}

static void kernels_body(void)
{
	CUfunction small, large;

	make_image();
	vts_child_start();
	small = load("small", 96);
	large = load("large", FRAME);
	CHECK_EQUAL(CONTEXT, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, launch(small));
	CHECK_EQUAL(CONTEXT, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, launch(large));
	CHECK_EQUAL(CONTEXT + UP((FRAME - FIRST) * THREADS), vts_child_used());
	CHECK_RC(CUDA_SUCCESS, launch(small));
	CHECK_RC(CUDA_SUCCESS, launch(large));
	CHECK_EQUAL(CONTEXT + UP((FRAME - FIRST) * THREADS), vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuDevicePrimaryCtxReset_v2(0));
	vts_child_start();
	CHECK_EQUAL(CONTEXT, vts_child_used());
}

static void test_kernels(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(kernels_body, NULL));
}

static void limit_body(void)
{
	CUfunction large;

	make_image();
	vts_child_start();
	large = load("large", FRAME);
	CHECK_RC(CUDA_SUCCESS, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
	CHECK_EQUAL(CONTEXT + UP(3072 * THREADS), vts_child_used());
	CHECK_RC(CUDA_SUCCESS, launch(large));
	CHECK_EQUAL(CONTEXT + UP(3072 * THREADS), vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, FIRST));
	CHECK_EQUAL(CONTEXT, vts_child_used());
	CHECK_RC(CUDA_ERROR_OUT_OF_MEMORY, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1 << 20));
	CHECK_EQUAL(CONTEXT, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, launch(large));
	CHECK_EQUAL(CONTEXT + UP((FRAME - FIRST) * THREADS), vts_child_used());
}

static void test_limit(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(limit_body, NULL));
}

/* What lies about its own tables is no more than an image of which nothing is known. */
static void broken_body(void)
{
	vts_child_start();
	make_image();
	image.sections[1].sh_size = 1 << 30;
	load("large", 0);
	make_image();
	image.info[0].size = 0xffff;
	load("large", 0);
	make_image();
	image.symbols[2].st_name = 1 << 20;
	load("large", 0);
	make_image();
	image.sections[2].sh_link = 9;
	load("large", 0);
	make_image();
	image.head.e_machine = EM_X86_64;
	load("large", 0);
	make_image();
	load("large", FRAME);
}

static void test_broken(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(broken_body, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
