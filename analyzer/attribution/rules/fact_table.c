/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/rules/fact_table.h"

#include "analyzer/attribution/rules/evidence.h"
#include "analyzer/base/util.h"
#include "common/kinds.h"

#define KIND_WORD(name, number, text, ...) [number] = text,
static const char *const kind_words[] = { VT_KINDS(KIND_WORD) };
static const char *const role_words[] = { VT_ROLES(KIND_WORD) };

struct fact_row {
	const char *key;
	enum vt_compare compare;
};

#define FACT_ROW(name, text, how) { text, VT_COMPARE_##how },
static const struct fact_row fact_rows[VT_NR_FACTS] = { VT_FACTS(FACT_ROW) };

const char *vt_fact_table_key(enum vt_fact fact)
{
	return fact_rows[fact].key;
}

enum vt_compare vt_fact_table_compare(enum vt_fact fact)
{
	return fact_rows[fact].compare;
}

const char *const *vt_fact_table_words(enum vt_fact fact, size_t *count)
{
	*count = 0;
	if (fact_rows[fact].compare != VT_COMPARE_WORDS)
		return NULL;
	switch (fact) {
	case VT_FACT_KIND:
		*count = VT_ARRAY_SIZE(kind_words);
		return kind_words;
	case VT_FACT_LIFETIME:
		*count = VT_NR_LIFETIMES;
		return vt_evidence_lifetimes;
	case VT_FACT_HEAD:
		*count = VT_NR_HEADS;
		return vt_evidence_heads;
	case VT_FACT_YIELD:
		*count = VT_NR_YIELDS;
		return vt_evidence_yields;
	case VT_FACT_GRAD:
		*count = VT_NR_GRAD_MODES;
		return vt_evidence_grad_modes;
	case VT_FACT_MOVED:
		*count = VT_NR_MOVED;
		return vt_evidence_moved;
	case VT_FACT_MADE_OF:
		*count = VT_NR_SOURCES;
		return vt_evidence_sources;
	case VT_FACT_PASS:
		*count = VT_NR_PURPOSES;
		return vt_evidence_purposes;
	case VT_FACT_PROGRAM:
		*count = VT_NR_PROGRAMS;
		return vt_evidence_programs;
	case VT_FACT_ROLE:
		*count = VT_ARRAY_SIZE(role_words);
		return role_words;
	case VT_FACT_FLAG:
		*count = VT_NR_FLAGS;
		return vt_evidence_flags;
	case VT_FACT_COPY_OF:
	case VT_FACT_GRADIENT_OF:
	case VT_FACT_CAST_OF:
	case VT_FACT_LIKE:
		*count = VT_NR_THINGS;
		return vt_evidence_things;
	case VT_FACT_UPDATE:
		*count = VT_NR_UPDATES;
		return vt_evidence_updates;
	case VT_FACT_SHAPE_CLASS:
		*count = VT_NR_SHAPE_CLASSES;
		return vt_evidence_shape_classes;
	case VT_FACT_ALIKE:
		*count = VT_NR_ALIKE;
		return vt_evidence_alike;
	case VT_FACT_SHARE:
		*count = VT_NR_SHARES;
		return vt_evidence_shares;
	case VT_FACT_MADE:
		*count = VT_NR_REPEATS;
		return vt_evidence_repeats;
	case VT_FACT_FREED_BY:
		*count = VT_NR_RELEASERS;
		return vt_evidence_releasers;
	default:
		*count = VT_NR_STAGES;
		return vt_evidence_stages;
	}
}
