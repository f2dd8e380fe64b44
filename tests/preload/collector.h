/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PRELOAD_COLLECTOR_H
#define TESTS_PRELOAD_COLLECTOR_H

/* What collector.c says it found. */
#define COLLECTOR_PEAK_BYTES (3ull << 29)	/* 1.50 GiB */

#endif
