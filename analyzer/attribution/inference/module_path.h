/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MODULE_PATH_H
#define VT_ANALYZER_MODULE_PATH_H

/*
 * Where in the program's tree of modules an allocation belongs: the module that a parameter, its
 * gradient and its optimizer state hang on; for all else the innermost module that ran when it was
 * made, or when the forward call ran whose autograd node made it.
 */

#include "analyzer/attribution/inference/facts.h"

/* What tells the path; both NULL: nothing does.  Equal ones have one path. */
struct vt_module_path_source {
	const struct vt_tensor *tensor;
	const struct vt_torch_module *module;
};

struct vt_module_path_source vt_module_path_source(const struct vt_facts *facts,
						   const struct vt_allocation *a);
/* "model.layers.3.mlp", "" for a root; NULL: unknown.  The caller frees. */
char *vt_module_path_of(const struct vt_facts *facts, struct vt_module_path_source source);
/* The same of an allocation. */
char *vt_module_path_module(const struct vt_facts *facts, const struct vt_allocation *a);
/* "model.layers.*.mlp": what a path has in common with those of equal modules; the caller frees. */
char *vt_module_path_fold(const char *path);

#endif
