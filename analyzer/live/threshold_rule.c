/* SPDX-License-Identifier: MIT */
#include "analyzer/live/threshold_rule.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/util.h"

static const struct period {
	const char *name;
	int64_t s; /* 0: a step */
} periods[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "step", 0 } };

static int parse_period(struct vt_threshold_rule *rule, const char *name)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(periods); i++)
		if (!strcmp(periods[i].name, name)) {
			rule->period = periods[i].name;
			rule->period_s = periods[i].s;
			/* Growth per step is that of all memory. */
			return rule->period_s || !rule->owner ? 0 : -1;
		}
	return -1;
}

static int parse_amount(struct vt_threshold_rule *rule, char *text)
{
	char *slash = *text == '+' ? strchr(text, '/') : NULL;

	if (slash)
		*slash++ = '\0';
	/* 85 is more often a share whose sign was forgotten than bytes. */
	if (!*text || isdigit((unsigned char)text[strlen(text) - 1]))
		return -1;
	if (vt_amounts_parse(text, &rule->amount) || rule->amount.is_relative != (slash != NULL))
		return -1;
	/* Nothing is always reached, more than there is never. */
	if (rule->amount.is_percent ? rule->amount.percent <= 0 || rule->amount.percent > 100 :
				      !rule->amount.bytes)
		return -1;
	return slash ? parse_period(rule, slash) : 0;
}

int vt_threshold_rule_parse(struct vt_threshold_rule *rule, const char *text)
{
	const char *equals = strrchr(text, '=');
	char *amount = vt_xstrdup(equals ? equals + 1 : text);
	int rc = -1;

	*rule = (struct vt_threshold_rule){ .text = text };
	if (equals)
		rule->owner = vt_xstrndup(text, (size_t)(equals - text));
	if (equals != text)
		rc = parse_amount(rule, amount);
	free(amount);
	return rc;
}

void vt_threshold_rule_release(struct vt_threshold_rule *rule)
{
	free(rule->owner);
}

uint64_t vt_threshold_rule_bytes(const struct vt_threshold_rule *rule, int64_t device_bytes)
{
	double share = rule->amount.percent / 100 * (double)device_bytes;

	return rule->amount.is_percent ? (uint64_t)share : rule->amount.bytes;
}
