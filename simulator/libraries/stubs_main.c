/* SPDX-License-Identifier: MIT */
/*
 * vtrace-sim-stubs: makes the stub libraries that an installed PyTorch or CuPy needs.
 *
 *   vtrace-sim-stubs --python PYTHON         print the cached folder of stubs, made if need be; an
 *                                            empty line when that Python has neither for CUDA
 *   vtrace-sim-stubs --package DIR --out DIR write the stubs for the folder of such a package, no
 *                                            cache
 *
 * A folder is complete or absent: it is written beside its place and renamed.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stub_elf.h"
#include "stub_imports.h"
#include "stub_table.h"
#include "client_package.h"

enum { WRONG_USAGE = 2, FAILURE = 3 };

static void usage(void)
{
	fputs("usage: vtrace-sim-stubs --python PYTHON | --package DIR --out DIR\n", stderr);
	exit(WRONG_USAGE);
}

static void join(char *path, const char *directory, const char *name)
{
	if (snprintf(path, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX)
		errx(FAILURE, "path too long: %s/%s", directory, name);
}

/*
 * The package itself, and those beside it that link the same libraries (torchvision, flash-attn,
 * cupy_backends, ...).
 */
static void collect(struct vts_stub_set *set, const char *package)
{
	char beside[PATH_MAX];

	vts_stub_imports_add_tree(set, package);
	if (!set->nr_libraries)
		return;
	snprintf(beside, sizeof(beside), "%s", package);
	vts_stub_imports_add_tree(set, dirname(beside));
	vts_client_package_releases(package, set);
	vts_stub_set_sort(set);
}

static void write_list(const struct vts_stub_set *set, const char *directory)
{
	const struct vts_stub_library *library;
	char path[PATH_MAX];
	FILE *file;
	size_t i;

	join(path, directory, VTS_STUB_LIST_FILE);
	file = fopen(path, "wx");
	if (!file)
		err(FAILURE, "%s", path);
	for (i = 0; i < set->nr_libraries; i++) {
		library = &set->libraries[i];
		fprintf(file, "%s %s\n", library->soname, library->version ? library->version : "");
	}
	if (fclose(file))
		err(FAILURE, "%s", path);
}

static void write_stubs(const struct vts_stub_set *set, const char *directory)
{
	char path[PATH_MAX];
	int error;
	size_t i;

	for (i = 0; i < set->nr_libraries; i++) {
		if (set->libraries[i].is_ours)
			continue;
		join(path, directory, set->libraries[i].soname);
		error = vts_stub_elf_write(&set->libraries[i], path);
		if (error)
			errx(FAILURE, "%s: %s", path, strerror(-error));
	}
	write_list(set, directory);
}

static void remove_stubs(const struct vts_stub_set *set, const char *directory)
{
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < set->nr_libraries; i++) {
		join(path, directory, set->libraries[i].soname);
		unlink(path);
	}
	join(path, directory, VTS_STUB_LIST_FILE);
	unlink(path);
	rmdir(directory);
}

static void make_directory_of(const char *path)
{
	char parent[PATH_MAX];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	for (slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(parent, 0777) && errno != EEXIST)
			err(FAILURE, "%s", parent);
		*slash = '/';
	}
}

static int is_present(const char *directory)
{
	char path[PATH_MAX];

	join(path, directory, VTS_STUB_LIST_FILE);
	return access(path, R_OK) == 0;
}

/* Two callers at once: the one whose rename comes second throws its copy away. */
static void make_stubs(const struct vts_stub_set *set, const char *directory)
{
	char temporary[PATH_MAX];
	int error;

	make_directory_of(directory);
	if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", directory) >= PATH_MAX)
		errx(FAILURE, "path too long: %s", directory);
	if (!mkdtemp(temporary))
		err(FAILURE, "%s", temporary);
	if (chmod(temporary, 0755))
		err(FAILURE, "%s", temporary);
	write_stubs(set, temporary);
	if (!rename(temporary, directory))
		return;
	error = errno;
	remove_stubs(set, temporary);
	if (!is_present(directory))
		errx(FAILURE, "%s: %s", directory, strerror(error));
}

/* ${VTRACE_CACHE:-${XDG_CACHE_HOME:-~/.cache}/vtrace}/stubs-VERSION-HASH */
static void cache_directory(char *path, const struct vts_stub_set *set, const char *version)
{
	const char *cache = getenv("VTRACE_CACHE"), *base = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	char folder[PATH_MAX / 2], name[512];

	if (cache && *cache)
		snprintf(folder, sizeof(folder), "%s", cache);
	else if (base && *base)
		snprintf(folder, sizeof(folder), "%s/vtrace", base);
	else
		snprintf(folder, sizeof(folder), "%s/.cache/vtrace", home ? home : "");
	snprintf(name, sizeof(name), "stubs-%s-%016llx", version,
		 (unsigned long long)(vts_stub_set_hash(set) ^ VTS_STUB_MAGIC));
	join(path, folder, name);
}

static void serve_python(const char *python)
{
	char package[PATH_MAX], version[256], directory[PATH_MAX] = "";
	struct vts_stub_set set = {0};
	int error = vts_client_package_find(python, package, sizeof(package));

	if (error < 0)
		errx(FAILURE, "%s: %s", python, strerror(-error));
	if (!error)
		collect(&set, package);
	if (set.nr_libraries) {
		vts_client_package_version(package, version, sizeof(version));
		cache_directory(directory, &set, version);
		if (!is_present(directory)) {
			fprintf(stderr,
				"vtrace simulator: generating stubs for %zu libraries of %s %s\n",
				set.nr_libraries, basename(package), version);
			make_stubs(&set, directory);
		}
	}
	puts(directory);
	vts_stub_set_release(&set);
}

static void serve_directory(const char *package, const char *out)
{
	struct vts_stub_set set = {0};

	collect(&set, package);
	if (!set.nr_libraries)
		errx(FAILURE, "%s: no file here links a CUDA library", package);
	if (is_present(out))
		errx(FAILURE, "%s exists", out);
	make_stubs(&set, out);
	vts_stub_set_release(&set);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"python", required_argument, NULL, 'p'},
						{"package", required_argument, NULL, 'k'},
						{"out", required_argument, NULL, 'o'},
						{NULL, 0, NULL, 0}};
	const char *python = NULL, *package = NULL, *out = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'p':
			python = optarg;
			break;
		case 'k':
			package = optarg;
			break;
		case 'o':
			out = optarg;
			break;
		default:
			usage();
		}
	}
	if (optind != argc || !python == !package || !package != !out)
		usage();
	if (python)
		serve_python(python);
	else
		serve_directory(package, out);
	return 0;
}
