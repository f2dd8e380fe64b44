/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FINDING_IDS_H
#define VT_ANALYZER_FINDING_IDS_H

enum vt_finding_id {
#define VT_FINDING(name, ...) VT_FINDING_##name,
#include "analyzer/diagnosis/finding_table.def"
#undef VT_FINDING
	VT_NR_FINDINGS
};

#endif
