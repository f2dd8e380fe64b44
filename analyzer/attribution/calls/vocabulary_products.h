/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_VOCABULARY_PRODUCTS_H
#define VT_ANALYZER_VOCABULARY_PRODUCTS_H

/*
 * The vocabulary's matrix product by the shape of its weight: it has a row for every word, as the
 * largest embedding has, or shares the embedding's matrix.
 */

#include <stdint.h>

#include "analyzer/attribution/rules/rules.h"
#include "analyzer/model/model.h"

/* The address of that module; 0: there is none, or several could be it. */
uint64_t vt_vocabulary_products_find(const struct vt_model *model, const struct vt_rules *rules);

#endif
