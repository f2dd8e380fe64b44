/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CONFIG_VALUES_H
#define VT_ANALYZER_CONFIG_VALUES_H

/*
 * Values of a config.json under the names that its family gives them (families.ini).
 */

#include <jansson.h>
#include <stdint.h>

#include "analyzer/base/diag.h"

/* No width, number of layers or vocabulary of any model is near; products of two are exact. */
#define VT_CONFIG_MAX_SIZE 100000000
/* Each layer is asked what it is made of. */
#define VT_CONFIG_MAX_LAYERS 10000

struct vt_config_values {
	const json_t *object;
	const char *family;
	const char *where;    /* for messages */
	struct vt_diag *diag; /* the first thing that was wrong; exit_code 0 while all is well */
	json_t *asked;        /* names of the keys that were asked for; NULL: not kept */
	int is_guessed;       /* the family is one that it resembles */
};

/*
 * A copy of a configuration with what transformers takes for keys that it does not have
 * (families.ini, "missing"); json_decref().
 */
json_t *vt_config_fill(const json_t *object, const char *family);

/* The value of a key, NULL where it is missing.  Every key of a configuration is read by this. */
const json_t *vt_config_get(const struct vt_config_values *values, const char *key);

/*
 * The keys, with blanks between them, that by their names and values say a size of the model and
 * that nobody asked for; free().  NULL: none.  families.ini says which are known to cost nothing.
 */
char *vt_config_unread(const struct vt_config_values *values);
/* The two largest numbers of those keys, multiplied; of one alone times `width`. */
double vt_config_unread_product(const struct vt_config_values *values, uint64_t width);

/*
 * The whole number that the family calls `name` ("hidden"), `fallback` where the configuration does
 * not say (or says null); 0 after an error.
 */
uint64_t vt_config_size(const struct vt_config_values *values, const char *name, uint64_t fallback);
/* The same where there must be one that is at least 1. */
uint64_t vt_config_required(const struct vt_config_values *values, const char *name);

/* By the key itself. */
uint64_t vt_config_key(const struct vt_config_values *values, const char *key, uint64_t fallback);
/* `fallback` where it is missing or null; an error where it is neither true nor false. */
int vt_config_flag(const struct vt_config_values *values, const char *key, int fallback);
/* NULL where it is missing or no text. */
const char *vt_config_text(const struct vt_config_values *values, const char *key);

#endif
