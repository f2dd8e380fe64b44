/* SPDX-License-Identifier: MIT */
#ifndef VTS_CLIENT_PACKAGE_H
#define VTS_CLIENT_PACKAGE_H

/*
 * Where an interpreter keeps PyTorch, else CuPy, and what that package says of itself; nothing is
 * imported.
 */

#include <stddef.h>

#include "stub_set.h"

/*
 * Asks an interpreter for the folder of that package.  Returns 0, 1 when it has none, or
 * -errno when it could not be run.
 */
int vts_client_package_find(const char *python, char *directory, size_t size);

/* The package's version ("2.11.0+cu130"); "unknown" when no file of it says. */
void vts_client_package_version(const char *directory, char *version, size_t size);

/*
 * Fills in the libraries' releases from the wheel's own requirements
 * ("nvidia-cudnn-cu13==9.19.0.56"), so that version queries are answered with the release that the
 * wheel was built for.
 */
void vts_client_package_releases(const char *directory, struct vts_stub_set *set);

#endif
