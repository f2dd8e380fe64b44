/* SPDX-License-Identifier: MIT */
/*
 * A library in the middle of two others that define the same function (build it with THIRD_NUMBER 1
 * and 2): which one RTLD_NEXT finds depends on who asks.  As libnvidia-third.so it is a caller from
 * inside the driver.  The first one has a RUNPATH of its own.
 */
#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int third_number(void);
EXPORT int third_next_number(void);
EXPORT void *third_look_up(void *handle, const char *name);
EXPORT void *third_open(const char *path, int flags);

int third_number(void)
{
	return THIRD_NUMBER;
}

int third_next_number(void)
{
	int (*next)(void);

	*(void **)&next = dlsym(RTLD_NEXT, "third_number");
	return next ? next() : 0;
}

void *third_look_up(void *handle, const char *name)
{
	void *address = dlsym(handle, name);

	/* Not a tail call: the return address must be here. */
	__asm__ volatile("" : "+r"(address));
	return address;
}

void *third_open(const char *path, int flags)
{
	/* No jump: the return address is ours. */
	void *volatile library = dlopen(path, flags);

	return library;
}
