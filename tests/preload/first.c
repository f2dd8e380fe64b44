/* SPDX-License-Identifier: MIT */
/*
 * Another preloaded library with a dlsym of its own that chains: the next one in search order is
 * asked.  It comes before the recorder or behind it.  Built with FIRST_GIVES_HOOKS it answers for
 * the driver with what the global scope has under that name, which is the recorder's hook.
 */
#include <dlfcn.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static struct {
	unsigned int nr_look_ups;
	void *(*libc)(void *, const char *);
	void *(*next)(void *, const char *);
} g;

EXPORT unsigned int first_nr_look_ups(void);
EXPORT void *dlsym(void *handle, const char *name);

unsigned int first_nr_look_ups(void)
{
	return g.nr_look_ups;
}

void *dlsym(void *handle, const char *name)
{
	if (!g.next) {
		*(void **)&g.libc = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
		*(void **)&g.next = g.libc(RTLD_NEXT, "dlsym");
	}
	g.nr_look_ups++;
#ifdef FIRST_GIVES_HOOKS
	if (handle != RTLD_NEXT && strncmp(name, "cuMem", 5) == 0)
		return g.libc(RTLD_DEFAULT, name);
#endif
	return g.next(handle, name);
}
