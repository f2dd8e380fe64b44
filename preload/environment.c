/* SPDX-License-Identifier: MIT */
#include "preload/environment.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "preload/sys.h"

#define MOST_VARIABLES 8192u
#define MOST_BYTES (2u << 20)	/* what Linux lets a process begin with, by default */
#define PAGE_BYTES 4096u
#define ATTEMPTS 10

struct copy {
	char *variables[MOST_VARIABLES + 1];
	char *seen[MOST_VARIABLES + 1];	/* the program's pointers that they were copied from */
	char bytes[MOST_BYTES];
};

static struct {
	struct copy copy;	/* only what is used is touched, and takes memory */
	char **variables;	/* NULL: not taken yet */
} g;

static int read_memory(void *to, const void *from, size_t len)
{
	int err = vt_sys_read_memory(to, from, len);

	/* A system may forbid the call (seccomp): then as everybody else reads. */
	if (err && err != -EFAULT) {
		memcpy(to, from, len);
		err = 0;
	}
	return err;
}

/* Returns the length without the end, or -1: it cannot be read, or there is no room. */
static int64_t copy_text(char *to, size_t size, const char *from)
{
	size_t len = 0;

	while (len < size) {
		size_t piece = PAGE_BYTES - (uintptr_t)(from + len) % PAGE_BYTES;
		const char *end;

		if (piece > size - len)
			piece = size - len;
		if (read_memory(to + len, from + len, piece))
			return -1;
		end = memchr(to + len, '\0', piece);
		if (end)
			return end - to;
		len += piece;
	}
	return -1;
}

/* The program's pointers.  Returns how many, or 0 where they cannot be read. */
static uint32_t read_pointers(char **to, char **from)
{
	uint32_t nr = 0;

	while (nr < MOST_VARIABLES && !read_memory(&to[nr], &from[nr], sizeof(*to)) && to[nr])
		nr++;
	to[nr] = NULL;
	return nr;
}

static void copy_all(struct copy *copy, uint32_t nr)
{
	size_t used = 0;
	uint32_t to = 0;

	for (uint32_t i = 0; i < nr; i++) {
		int64_t len = copy_text(copy->bytes + used, sizeof(copy->bytes) - used,
					copy->seen[i]);

		if (len < 0)
			continue;
		copy->variables[to++] = copy->bytes + used;
		used += (size_t)len + 1;
	}
	copy->variables[to] = NULL;
}

/* Whether the pointers are still those that were copied. */
static int is_unchanged(const struct copy *copy, char **from, uint32_t nr)
{
	char *now;

	if (__atomic_load_n(&environ, __ATOMIC_RELAXED) != from)
		return 0;
	for (uint32_t i = 0; i < nr; i++)
		if (read_memory(&now, &from[i], sizeof(now)) || now != copy->seen[i])
			return 0;
	return 1;
}

void vt_environment_take(void)
{
	uint32_t nr;
	char **from;

	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		from = __atomic_load_n(&environ, __ATOMIC_RELAXED);
		nr = from ? read_pointers(g.copy.seen, from) : 0;
		copy_all(&g.copy, nr);
		if (is_unchanged(&g.copy, from, nr))
			break;
	}
	g.variables = g.copy.variables;
}

const char *vt_environment_get(const char *name)
{
	size_t len = strlen(name);

	for (char **at = g.variables; at && *at; at++)
		if (strncmp(*at, name, len) == 0 && (*at)[len] == '=')
			return *at + len + 1;
	return NULL;
}

char **vt_environment_all(void)
{
	static char *none[1];

	return g.variables ? g.variables : none;
}
