/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_METRICS_H
#define VT_ANALYZER_LIVE_METRICS_H

/*
 * Recordings as metrics: gauges of what is in use now and counters, labelled by program, process
 * and rank.  Of a process with several devices that which it uses most.
 */

#include <stdio.h>

#include "analyzer/ranks/ranks_runs.h"

/*
 * Prometheus' own text format has the counters' full names in its comments, and no end line;
 * node_exporter reads no other.
 */
enum vt_metrics_format { VT_METRICS_OPENMETRICS, VT_METRICS_PROMETHEUS };

void vt_metrics_print(const struct vt_ranks_runs *runs, enum vt_metrics_format format, FILE *out);

#endif
