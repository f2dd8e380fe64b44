/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/plan_settings.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/numbers.h"
#include "common/size.h"

enum kind { KIND_NUMBER, KIND_WORD, KIND_BYTES };

#define ROW(id, name, kind, standard, limits, argument, changes, help)                             \
	{ { name, argument, help, changes }, KIND_##kind, standard, limits },
static const struct {
	struct vt_setting_row shown;
	enum kind kind;
	int64_t standard;
	const char *limits;
} rows[VT_NR_SETTINGS] = { VT_SETTINGS(ROW) };
#undef ROW

void vt_plan_settings_init(struct vt_plan_settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	for (int i = 0; i < VT_NR_SETTINGS; i++)
		settings->value[i] = rows[i].standard;
}

const struct vt_setting_row *vt_plan_settings_row(enum vt_setting id)
{
	return &rows[id].shown;
}

int vt_plan_settings_find(const char *name, size_t len)
{
	for (int i = 0; i < VT_NR_SETTINGS; i++)
		if (strlen(rows[i].shown.name) == len && !memcmp(rows[i].shown.name, name, len))
			return i;
	return -1;
}

/* The place of a word in a list, -1 where it is not in it. */
static int find_word(const char *words, const char *text)
{
	size_t len = strlen(text);

	for (int place = 0; *words; place++) {
		size_t word = strcspn(words, " ");

		if (word == len && !memcmp(words, text, len))
			return place;
		words += word;
		words += strspn(words, " ");
	}
	return -1;
}

static int set_number(struct vt_plan_settings *settings, enum vt_setting id, const char *text,
		      struct vt_diag *diag)
{
	long long min = 0, max = 0;
	int64_t value;

	sscanf(rows[id].limits, "%lld %lld", &min, &max);
	if (!vt_numbers_parse(text, max, &value) && value >= min) {
		settings->value[id] = value;
		return 0;
	}
	vt_diag_set(diag, VT_EXIT_USAGE, "--%s %.60s: must be a whole number from %lld to %lld",
		    rows[id].shown.name, text, min, max);
	return -1;
}

int vt_plan_settings_set(struct vt_plan_settings *settings, enum vt_setting id, const char *text,
		    struct vt_diag *diag)
{
	uint64_t bytes;

	settings->is_given[id] = 1;
	if (rows[id].kind == KIND_NUMBER)
		return set_number(settings, id, text, diag);
	if (rows[id].kind == KIND_WORD) {
		int place = find_word(rows[id].limits, text);

		if (place >= 0) {
			settings->value[id] = place;
			return 0;
		}
		vt_diag_set(diag, VT_EXIT_USAGE, "--%s %.60s: must be one of %s",
			    rows[id].shown.name, text, rows[id].limits);
		return -1;
	}
	if (!vt_size_parse(text, &bytes) && bytes < 1ull << 53) {
		settings->value[id] = (int64_t)bytes;
		return 0;
	}
	vt_diag_set(diag, VT_EXIT_USAGE, "--%s %.60s: must be a size such as 400MiB",
		    rows[id].shown.name, text);
	return -1;
}

const char *vt_plan_settings_words(enum vt_setting id)
{
	return rows[id].kind == KIND_WORD ? rows[id].limits : NULL;
}

int vt_plan_settings_word(enum vt_setting id, size_t place, char *buf, size_t size)
{
	const char *word = rows[id].limits;

	if (rows[id].kind != KIND_WORD)
		return 0;
	for (; place && *word; place--) {
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	snprintf(buf, size, "%.*s", (int)strcspn(word, " "), word);
	return *word != '\0';
}

const char *vt_plan_settings_text(const struct vt_plan_settings *settings, enum vt_setting id,
				  char *buf, size_t size)
{
	if (!vt_plan_settings_word(id, (size_t)settings->value[id], buf, size))
		snprintf(buf, size, "%lld", (long long)settings->value[id]);
	return buf;
}

int vt_plan_settings_is_standard(const struct vt_plan_settings *settings, enum vt_setting id)
{
	return settings->value[id] == rows[id].standard;
}
