/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planner/config.h"
#include "analyzer/planner/validation.h"
#include "analyzer/planner/source.h"
#include "tests/lib/planned.h"

static void set_all(struct vt_plan_settings *settings, const char *words)
{
	char *copy = vt_xstrdup(words), *save, *word;
	struct vt_diag diag = { 0 };

	vt_plan_settings_init(settings);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		size_t len = strcspn(word, "=");
		int id = vt_plan_settings_find(word, len);

		if (id < 0 ||
		    vt_plan_settings_set(settings, (enum vt_setting)id, word + len + 1, &diag))
			fail_msg("%s: %s", word, diag.text);
	}
	if (vt_validate_settings(settings, &diag))
		fail_msg("%s: %s", words, diag.text);
	free(copy);
}

static struct planned *plan_of(struct planned *planned, const char *settings)
{
	struct vt_diag diag = { 0 };

	set_all(&planned->settings, settings);
	planned->plan.model = &planned->model;
	planned->plan.settings = &planned->settings;
	planned->plan.is_explained = 1;
	if (vt_estimate_make(&planned->plan, &diag))
		fail_msg("%s", diag.text);
	return planned;
}

struct planned *planned_make(const char *preset, const char *settings)
{
	struct planned *planned = vt_xcalloc(1, sizeof(*planned));
	struct vt_diag diag = { 0 };

	if (vt_source_open(&planned->model, preset, &diag))
		fail_msg("%s", diag.text);
	return plan_of(planned, settings);
}

struct planned *planned_read(const char *config, const char *settings)
{
	struct planned *planned = vt_xcalloc(1, sizeof(*planned));
	struct vt_diag diag = { 0 };

	if (vt_config_read(&planned->model, config, strlen(config), "x", &diag))
		fail_msg("%s", diag.text);
	return plan_of(planned, settings);
}

void planned_release(struct planned *planned)
{
	vt_plan_release(&planned->plan);
	vt_architecture_release(&planned->model);
	free(planned);
}

double planned_bytes(const struct planned *planned, const char *owner, enum vt_plan_stage stage)
{
	double bytes = 0;

	for (size_t i = 0; i < planned->plan.terms.len; i++) {
		const struct vt_term *term = &planned->plan.terms.items[i];

		if ((term->stages & 1u << stage) && (!owner || !strcmp(term->owner, owner)))
			bytes += term->bytes;
	}
	return bytes;
}

double planned_row(const struct planned *planned, const char *formula)
{
	for (size_t i = 0; i < planned->plan.terms.len; i++)
		if (!strcmp(planned->plan.terms.items[i].formula, formula))
			return planned->plan.terms.items[i].bytes;
	fail_msg("no row %s", formula);
	return 0;
}

unsigned long planned_rounds(unsigned long quick)
{
	const char *text = getenv("VT_FUZZ_ROUNDS");

	return text ? strtoul(text, NULL, 10) : quick;
}
