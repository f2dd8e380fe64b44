/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_INSTALL_PATH_H
#define VT_ANALYZER_INSTALL_PATH_H

/* Where things are: our own parts beside the running program, other programs on PATH. */

/*
 * The absolute path of one of our own files ("libvtrace.so", "simulator"), looked for in the build
 * tree's and the installation's layout.  NULL where it is not there; free().
 */
char *vt_install_path_own(const char *name);

/*
 * The executable that execvp() would run for `command`; NULL with errno where there is none;
 * free().
 */
char *vt_install_path_command(const char *command);

/* The program that a script's first line (#!) names; NULL for other files; free(). */
char *vt_install_path_interpreter(const char *path);

/*
 * The Python that runs `path`: itself, or the interpreter in a script's first line.  NULL for
 * others; free().
 */
char *vt_install_path_python(const char *path);

#endif
