/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/config_types.h"

#include <stdio.h>
#include <string.h>

/* Those that --dtype has. */
static const char *const planned[] = { "float32", "bfloat16", "float16" };

static void read_dtype(struct vt_architecture *model, const char *dtype)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(planned); i++)
		if (!strcmp(dtype, planned[i])) {
			snprintf(model->dtype, sizeof(model->dtype), "%s", dtype);
			return;
		}
	vt_architecture_note(model, vt_xasprintf("unknown dtype %.40s: bf16 is assumed unless "
						 "--dtype or a file says otherwise",
						 dtype));
}

/* The word of --quantise for the same; NULL: there is none. */
static const char *quantise_like(const json_t *config, const char *method)
{
	const json_t *bits = json_object_get(config, "bits");

	if (!strcmp(method, "gptq") || !strcmp(method, "awq"))
		return json_integer_value(bits) == 4 ? method : NULL;
	if (strcmp(method, "bitsandbytes") != 0)
		return NULL;
	if (json_is_true(json_object_get(config, "load_in_8bit")))
		return "int8";
	if (!json_is_true(json_object_get(config, "load_in_4bit")))
		return NULL;
	return json_is_true(json_object_get(config, "bnb_4bit_use_double_quant")) ? "nf4-double" :
										    "nf4";
}

static void note_quantisation(struct vt_architecture *model, const json_t *config)
{
	const char *method = json_string_value(json_object_get(config, "quant_method"));
	const char *like;

	if (!method)
		method = "of no quant_method";
	like = quantise_like(config, method);
	vt_architecture_note(
		model,
		like ? vt_xasprintf("quantization_config (%.40s) is not read; use --quantise %s",
				    method, like)
		     : vt_xasprintf("quantization_config (%.40s) is not supported", method));
}

void vt_config_types(struct vt_architecture *model, const json_t *config)
{
	const char *dtype = json_string_value(json_object_get(config, "dtype"));
	const json_t *quantisation = json_object_get(config, "quantization_config");

	if (!dtype)
		dtype = json_string_value(json_object_get(config, "torch_dtype"));
	model->dtype[0] = '\0';
	if (dtype)
		read_dtype(model, dtype);
	if (json_is_object(quantisation))
		note_quantisation(model, quantisation);
}
