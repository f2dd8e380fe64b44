/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GZIP_H
#define VT_ANALYZER_GZIP_H

#include <stdio.h>

/*
 * A stream that writes what it is given compressed into `below`, which stays open after its
 * fclose().  Errors of `below` are its own, too.
 */
FILE *vt_gzip_open(FILE *below);

#endif
