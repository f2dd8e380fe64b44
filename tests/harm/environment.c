/* SPDX-License-Identifier: MIT */
/*
 * Makes its first allocation with an environment that cannot be read, or that changes meanwhile.
 *
 *   environment gone     a variable lies in memory that cannot be read any more
 *   environment changes  a thread changes the environment all the time
 *   environment set      the program sets variables itself, before
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cuda_abi.h"

#define BYTES 4096u
#define MOST_NAMES 400

static struct {
	int is_over;	/* atomic */
	int nr_rounds;	/* atomic */
} g;

/* setenv() moves the list whenever it grows; unsetting moves what is behind. */
static void *change(void *unused)
{
	char name[32];

	while (!__atomic_load_n(&g.is_over, __ATOMIC_RELAXED)) {
		for (int i = 0; i < MOST_NAMES; i++) {
			snprintf(name, sizeof(name), "HARM_%d", i);
			setenv(name, "some value that is not short", 1);
		}
		clearenv();
		setenv("VTRACE_COLLECT", "0", 1);
		__atomic_fetch_add(&g.nr_rounds, 1, __ATOMIC_RELAXED);
	}
	return unused;
}

static void lose_a_variable(void)
{
	char *variable = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);

	strcpy(variable, "HARM_GONE=1");
	putenv(variable);
	mprotect(variable, BYTES, PROT_NONE);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(&cuMemAlloc_v2) alloc;
	CUdeviceptr address;
	pthread_t thread;
	CUresult result;

	if (!driver)
		return 2;
	*(void **)&alloc = dlsym(driver, "cuMemAlloc_v2");
	if (strcmp(mode, "gone") == 0)
		lose_a_variable();
	if (strcmp(mode, "set") == 0) {
		setenv("VTRACE_OUTPUT", "mine.%q{HARM_NAME}.db", 1);
		setenv("HARM_NAME", "own", 1);
		setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 1);
	}
	if (strcmp(mode, "changes") == 0) {
		if (pthread_create(&thread, NULL, change, NULL))
			return 2;
		while (!__atomic_load_n(&g.nr_rounds, __ATOMIC_RELAXED))
			usleep(100);
	}
	result = alloc(&address, BYTES);
	__atomic_store_n(&g.is_over, 1, __ATOMIC_RELAXED);
	if (strcmp(mode, "changes") == 0)
		pthread_join(thread, NULL);
	return (int)result;
}
