/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/dynamic_loader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/base/install_path.h"
#include "analyzer/base/util.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define MACHINE_NAME "x86-64"
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#define MACHINE_NAME "aarch64"
#else
#error "which ELF machine are the programs of this processor?"
#endif

#define SEPARATORS " \t\n:;$"

static int is_name(const char *path)
{
	return !path[strcspn(path, SEPARATORS)];
}

/* Whether `folder` is a directory that nobody else can put links into; makes it if need be. */
static int is_private_folder(const char *folder)
{
	struct stat st;

	if (mkdir(folder, 0700) && errno != EEXIST)
		return 0;
	return !lstat(folder, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* A private directory whose name the loader accepts; NULL if there is none; free(). */
static char *link_folder(void)
{
	const char *const parents[] = { getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), P_tmpdir };

	for (size_t i = 0; i < VT_ARRAY_SIZE(parents); i++) {
		char *folder;

		if (!parents[i] || parents[i][0] != '/' || !is_name(parents[i]))
			continue;
		folder = vt_xasprintf("%s/vtrace-links-%u", parents[i], (unsigned int)geteuid());
		if (is_private_folder(folder))
			return folder;
		free(folder);
	}
	return NULL;
}

static int is_link_to(const char *link, const char *target)
{
	char now[PATH_MAX];
	ssize_t len = readlink(link, now, sizeof(now) - 1);

	if (len < 0)
		return 0;
	now[len] = '\0';
	return !strcmp(now, target);
}

/* Two runs at once make the same link; rename() leaves one of them. */
static int make_link(const char *link, const char *target)
{
	char *temporary;
	int rc;

	if (is_link_to(link, target))
		return 0;
	temporary = vt_xasprintf("%s.%d", link, (int)getpid());
	rc = symlink(target, temporary);
	if (!rc)
		rc = rename(temporary, link);
	free(temporary);
	return rc;
}

/* Through a link to its folder, which is named by device and inode; NULL if none can be made. */
static char *name_by_link(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *links = link_folder(), *target, *link = NULL, *name = NULL;
	struct stat st;

	target = vt_xasprintf("%.*s", slash ? (int)(slash - path) : 0, path);
	if (links && slash && is_name(slash + 1) && !stat(target, &st)) {
		link = vt_xasprintf("%s/%jx-%jx", links, (uintmax_t)st.st_dev,
				    (uintmax_t)st.st_ino);
		if (!make_link(link, target))
			name = vt_xasprintf("%s%s", link, slash);
	}
	free(link);
	free(target);
	free(links);
	return name;
}

char *vt_dynamic_loader_name(const char *path, struct vt_diag *diag)
{
	char *name = is_name(path) ? vt_xstrdup(path) : name_by_link(path);

	if (!name)
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: the dynamic loader accepts no space, colon, semicolon or $ in a "
			    "path, and no link to it could be made in $XDG_RUNTIME_DIR, $TMPDIR or "
			    "/tmp",
			    path);
	return name;
}

/* The loader that the ELF file of `fd` asks for, in `interpreter`; "" where it asks for none. */
static int read_interpreter(int fd, const Elf64_Ehdr *header, char *interpreter, size_t size)
{
	interpreter[0] = '\0';
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		off_t offset = (off_t)(header->e_phoff + i * sizeof(Elf64_Phdr));
		Elf64_Phdr segment;
		ssize_t len;

		if (pread(fd, &segment, sizeof(segment), offset) != sizeof(segment))
			return -1;
		if (segment.p_type != PT_INTERP)
			continue;
		len = pread(fd, interpreter, size - 1, (off_t)segment.p_offset);
		if (len < 0)
			return -1;
		interpreter[len] = '\0';
		return 0;
	}
	return 0;
}

/*
 * Whether the loader lists libvtrace.so among what it would load, or cannot be asked.  It reads
 * LD_PRELOAD as it does before the program's first instruction, and then ends.
 */
static int is_listed(const char *interpreter, const char *path)
{
	int ends[2], status = 0, is_found = 0;
	char *line = NULL;
	size_t room = 0;
	FILE *output;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return 1;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		/* It complains again of what it complained of when the program started. */
		close(STDERR_FILENO);
		open("/dev/null", O_WRONLY);
		execl(interpreter, interpreter, "--list", path, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	output = fdopen(ends[0], "r");
	while (output && getline(&line, &room, output) > 0)
		is_found |= strstr(line, "/libvtrace.so") != NULL;
	free(line);
	if (output)
		fclose(output);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return is_found || pid < 0 || status != 0;
}

/* Of the ELF file that is open as `fd`. */
static const char *refusal_of(int fd, const char *path)
{
	char interpreter[PATH_MAX];
	Elf64_Ehdr header;
	struct stat st;
	const char *slash;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG))
		return NULL;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != MACHINE)
		return "it is not an " MACHINE_NAME " program";
	if (header.e_phentsize != sizeof(Elf64_Phdr) ||
	    read_interpreter(fd, &header, interpreter, sizeof(interpreter)))
		return NULL;
	if (!interpreter[0])
		return "it is statically linked";
	if (!fstat(fd, &st) && (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
				((st.st_mode & S_ISGID) && st.st_gid != getgid())))
		return "it changes its user or group, and LD_PRELOAD is ignored then";
	slash = strrchr(interpreter, '/');
	if (!slash || strncmp(slash + 1, "ld-linux", 8))
		return "its dynamic loader is not glibc's";
	return is_listed(interpreter, path) ? NULL : "the dynamic loader did not accept it";
}

const char *vt_dynamic_loader_refusal(const char *path)
{
	char *script = vt_install_path_interpreter(path);
	const char *program = script ? script : path, *refusal = NULL;
	int fd = open(program, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		refusal = refusal_of(fd, program);
		close(fd);
	}
	free(script);
	return refusal;
}
