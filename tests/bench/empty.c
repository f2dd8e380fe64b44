/* SPDX-License-Identifier: MIT */
/* A library without code or data: what preloading anything costs a process. */
typedef int vt_bench_nothing;
