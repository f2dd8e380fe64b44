/* SPDX-License-Identifier: MIT */
/*
 * libvtrace-simulator.so: preloaded into the client, opens the replacements before the client can.
 *
 * PyTorch's wheels carry DT_RPATH, which beats LD_LIBRARY_PATH: installed NVIDIA libraries would
 * win.  A library that is loaded already wins against both, by its soname.  Nothing happens in
 * processes that cannot be clients (a shell, a compiler that inherits LD_PRELOAD): those have no
 * Python and no CUDA library.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maths.h"

enum { PATH_SIZE = 4096 };

/* The folder of this library, where the simulated driver and runtime lie. */
static void own_directory(char *directory, size_t size)
{
	Dl_info info;
	char *slash;

	directory[0] = '\0';
	if (!dladdr((void *)own_directory, &info) || !info.dli_fname)
		return;
	snprintf(directory, size, "%s", info.dli_fname);
	slash = strrchr(directory, '/');
	if (slash)
		*slash = '\0';
}

static void *open_in(const char *directory, const char *soname)
{
	char path[PATH_SIZE];
	void *library;

	if (snprintf(path, sizeof(path), "%s/%s", directory, soname) >= PATH_SIZE ||
	    access(path, R_OK))
		return NULL;
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		fprintf(stderr, "vtrace simulator: %s\n", dlerror());
	return library;
}

static void open_library(const char *stubs, const char *own, const char *soname,
			 struct vts_release release)
{
	struct vts_stub_table *table;
	void *library = open_in(stubs, soname);

	if (!library) {
		open_in(own, soname);
		return;
	}
	vts_maths_note_release(soname, release);
	table = dlsym(library, VTS_STUB_TABLE_SYMBOL);
	if (table && table->magic == VTS_STUB_MAGIC)
		vts_maths_bind(table);
}

static void open_all(const char *stubs)
{
	char own[PATH_SIZE], path[PATH_SIZE], line[512], soname[256];
	struct vts_release release;
	FILE *list;

	own_directory(own, sizeof(own));
	if (snprintf(path, sizeof(path), "%s/" VTS_STUB_LIST_FILE, stubs) >= PATH_SIZE)
		return;
	list = fopen(path, "re");
	if (!list) {
		fprintf(stderr, "vtrace simulator: %s: %m\n", path);
		return;
	}
	while (fgets(line, sizeof(line), list)) {
		memset(&release, 0, sizeof(release));
		if (sscanf(line, "%255s %d.%d.%d", soname, &release.major, &release.minor,
			   &release.patch) >= 1)
			open_library(stubs, own, soname, release);
	}
	fclose(list);
}

static int is_client(void)
{
	return dlsym(RTLD_DEFAULT, "Py_IsInitialized") ||
	       dlopen("libcudart.so.11.0", RTLD_LAZY | RTLD_NOLOAD) ||
	       dlopen("libcudart.so.12", RTLD_LAZY | RTLD_NOLOAD) ||
	       dlopen("libcudart.so.13", RTLD_LAZY | RTLD_NOLOAD);
}

static __attribute__((constructor)) void start(void)
{
	const char *stubs = getenv("VTRACE_SIM_STUBS");

	if (!stubs || !*stubs || !is_client())
		return;
	open_all(stubs);
}
