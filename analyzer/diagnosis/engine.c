/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/engine.h"

#include <fnmatch.h>
#include <string.h>

#include "analyzer/base/util.h"

enum engine_number {
#define VT_ENGINE(name, ...) ENGINE_##name,
#define VT_ENGINE_FLAG(...)
#include "analyzer/diagnosis/engines.def"
#undef VT_ENGINE
#undef VT_ENGINE_FLAG
	NR_ENGINES
};

struct vt_engine {
	const char *files;
};

static const struct vt_engine engines[NR_ENGINES] = {
#define VT_ENGINE(name, ...) { __VA_ARGS__ },
#define VT_ENGINE_FLAG(...)
#include "analyzer/diagnosis/engines.def"
#undef VT_ENGINE
#undef VT_ENGINE_FLAG
};

static const struct {
	enum engine_number engine;
	enum vt_finding_id id;
	const char *words;
} flags[] = {
#define VT_ENGINE(...)
#define VT_ENGINE_FLAG(name, finding, words) { ENGINE_##name, VT_FINDING_##finding, words },
#include "analyzer/diagnosis/engines.def"
#undef VT_ENGINE
#undef VT_ENGINE_FLAG
};

const struct vt_engine *vt_engine_of(const struct vt_model *model)
{
	for (unsigned i = 0; i < NR_ENGINES; i++)
		for (uint32_t k = 0; k < model->frames.nr_codes; k++) {
			const char *file = model->frames.codes[k].file;

			if (file && !fnmatch(engines[i].files, file, 0))
				return &engines[i];
		}
	return NULL;
}

const char *vt_engine_flag(const struct vt_engine *engine, enum vt_finding_id id)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(flags); i++)
		if (&engines[flags[i].engine] == engine && flags[i].id == id)
			return flags[i].words;
	return NULL;
}
