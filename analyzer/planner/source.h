/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SOURCE_H
#define VT_ANALYZER_SOURCE_H

/*
 * What the user named: a folder of a model, a config.json, a safetensors or GGUF file, a preset, or
 * the name of a model in Hugging Face's local cache.
 */

#include "analyzer/base/diag.h"
#include "analyzer/planner/architecture.h"

/* 0 with *model filled (release it in any case), or -1 with `diag` filled. */
int vt_source_open(struct vt_architecture *model, const char *name, struct vt_diag *diag);

/*
 * The text of the configuration that it names; free().  NULL with `diag` filled where it has none
 * or cannot be read.
 */
char *vt_source_config(const char *name, struct vt_diag *diag);

/*
 * The text of a small file with a NUL behind it; free().  NULL with `diag` filled where it cannot
 * be read or is too large for a configuration.
 */
char *vt_source_read(const char *path, size_t *len, struct vt_diag *diag);

/* A model of which only the number of parameters is known: "7B", "350M", "1543714304". */
int vt_source_nominal(struct vt_architecture *model, const char *count, struct vt_diag *diag);

/* The names of all presets, one blank between them; free(). */
char *vt_source_presets(void);

#endif
