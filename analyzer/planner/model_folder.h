/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MODEL_FOLDER_H
#define VT_ANALYZER_MODEL_FOLDER_H

/*
 * The tensors of a Hugging Face model folder: of the files that model.safetensors.index.json names;
 * without it of model.safetensors; without that of every *.safetensors.
 */

#include "analyzer/base/diag.h"
#include "analyzer/planner/architecture.h"

/*
 * Adds them to *model, a model as vt_safetensors_read makes it.  How many files that were (0: none
 * there), or -1 with `diag` filled.
 */
int vt_model_folder_read(struct vt_architecture *model, const char *path, struct vt_diag *diag);

/*
 * Gives the model of a config.json what the files have: their type, and their parameters where
 * those are not as many as the configuration makes; the note says so then.
 */
void vt_model_folder_merge(struct vt_architecture *model, struct vt_architecture *files);

#endif
