/* SPDX-License-Identifier: MIT */
#include "simulator/driver_fault.h"

#include "common/size.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_RULES     32
#define MAX_NAME      96
#define MAX_RULE_TEXT 256

enum condition { NTH, EVERY, ABOVE };

struct rule {
	char function[MAX_NAME];
	enum condition condition;
	uint64_t number; /* of calls, or bytes */
	uint64_t delay_us;
	CUresult error;
	_Atomic uint64_t nr_calls;
};

static struct {
	pthread_once_t once;
	struct rule rules[MAX_RULES];
	size_t nr_rules;
} g = { .once = PTHREAD_ONCE_INIT };

static int parse_condition(struct rule *rule, char *text)
{
	char *end;

	if (text[0] == '>') {
		rule->condition = ABOVE;
		return vt_size_parse(text + 1, &rule->number);
	}
	rule->condition = NTH;
	if (!strncmp(text, "every=", 6)) {
		rule->condition = EVERY;
		text += 6;
	}
	rule->number = strtoull(text, &end, 10);
	return *end || !rule->number ? -1 : 0;
}

static int parse_delay(struct rule *rule, char *text)
{
	char *delay = strstr(text, ":delay=");
	char *end;

	if (!delay)
		return 0;
	*delay = '\0';
	rule->delay_us = strtoull(delay + 7, &end, 10);
	return *end || end == delay + 7 ? -1 : 0;
}

/* FUNCTION:CONDITION=ERROR[:delay=US] */
static int parse_rule(struct rule *rule, char *text)
{
	char *colon = strchr(text, ':');
	char *equals;
	char *end;

	if (!colon || colon == text || colon - text >= MAX_NAME || parse_delay(rule, colon + 1))
		return -1;
	memcpy(rule->function, text, (size_t)(colon - text));
	equals = strrchr(colon + 1, '=');
	if (!equals)
		return -1;
	*equals = '\0';
	rule->error = (CUresult)strtoul(equals + 1, &end, 10);
	if (*end || end == equals + 1)
		return -1;
	return parse_condition(rule, colon + 1);
}

static void read_rules(void)
{
	const char *list = getenv("VTRACE_SIM_FAULT");
	char text[MAX_RULE_TEXT];

	while (list && *list) {
		size_t len = strcspn(list, ",");
		struct rule *rule = &g.rules[g.nr_rules];

		memset(rule, 0, sizeof(*rule));
		snprintf(text, sizeof(text), "%.*s", (int)len, list);
		if (g.nr_rules < MAX_RULES - 1 && len < sizeof(text) && !parse_rule(rule, text))
			g.nr_rules++;
		else
			fprintf(stderr, "vtrace simulator: VTRACE_SIM_FAULT: ignored \"%.*s\"\n",
				(int)len, list);
		list += len + (list[len] == ',');
	}
}

static int is_hit(const struct rule *rule, uint64_t call, uint64_t size_bytes)
{
	switch (rule->condition) {
	case NTH:
		return call == rule->number;
	case EVERY:
		return call % rule->number == 0;
	case ABOVE:
		return size_bytes > rule->number;
	}
	return 0;
}

static void delay(uint64_t delay_us)
{
	struct timespec ts = { .tv_sec = (time_t)(delay_us / 1000000),
			       .tv_nsec = (long)(delay_us % 1000000) * 1000 };

	if (delay_us)
		nanosleep(&ts, NULL);
}

CUresult vts_fault_check(const char *function, uint64_t size_bytes)
{
	pthread_once(&g.once, read_rules);
	for (size_t i = 0; i < g.nr_rules; i++) {
		struct rule *rule = &g.rules[i];

		if (strcmp(rule->function, function))
			continue;
		if (!is_hit(rule, ++rule->nr_calls, size_bytes))
			continue;
		delay(rule->delay_us);
		if (rule->error)
			return rule->error;
	}
	return CUDA_SUCCESS;
}
