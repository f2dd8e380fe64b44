/* SPDX-License-Identifier: MIT */
#include "preload/config.h"

#include <stddef.h>

#include "preload/environment.h"

static struct {
	struct vt_config values;
	const char *wrong;	/* the first variable that was no number; NULL: none */
} g = {
	.values = {
#define VT_CONFIG_TEXT(field, variable, standard, what) .field = standard,
#define VT_CONFIG_NUMBER(field, variable, standard, most, what) .field = standard,
		VT_RECORDER_OPTIONS(VT_CONFIG_TEXT, VT_CONFIG_NUMBER)
#undef VT_CONFIG_TEXT
#undef VT_CONFIG_NUMBER
	},
};

/* An empty variable counts as not set. */
static const char *text_of(const char *variable, const char *standard)
{
	const char *text = vt_environment_get(variable);

	return text && *text ? text : standard;
}

/*
 * Anything that is not a whole decimal number is as if not set; a larger one than sensible is cut.
 */
static uint32_t number_of(const char *variable, uint32_t standard, uint32_t most)
{
	const char *text = vt_environment_get(variable);
	uint64_t number = 0;

	if (!text || !*text)
		return standard;
	for (; *text; text++) {
		if (*text < '0' || *text > '9') {
			g.wrong = g.wrong ? g.wrong : variable;
			return standard;
		}
		number = number * 10 + (uint64_t)(*text - '0');
		if (number > most)
			number = most;
	}
	return (uint32_t)number;
}

void vt_config_read(void)
{
	g.wrong = NULL;
#define VT_CONFIG_TEXT(field, variable, standard, what) \
	g.values.field = text_of(variable, standard);
#define VT_CONFIG_NUMBER(field, variable, standard, most, what) \
	g.values.field = number_of(variable, standard, most);
	VT_RECORDER_OPTIONS(VT_CONFIG_TEXT, VT_CONFIG_NUMBER)
#undef VT_CONFIG_TEXT
#undef VT_CONFIG_NUMBER
}

const struct vt_config *vt_config(void)
{
	return &g.values;
}

const char *vt_config_wrong(void)
{
	return g.wrong;
}
