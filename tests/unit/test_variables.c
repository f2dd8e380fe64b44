/* SPDX-License-Identifier: MIT */
/* Which variable a tensor is named after does not depend on when the probe looked. */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"
#include "tests/lib/database_builder.h"

#define MAIN "train.py:40 main"
#define MOST 4

/* What looks saw of allocations that one line made: number of the allocation, look, name. */
struct seen {
	int allocation;
	unsigned probe;
	const char *name;
};

struct scene {
	struct seen seen[MOST];
	const char *owners[2]; /* of both allocations */
	uint64_t second_size;  /* 0: that of the first, 512 bytes */
	uint64_t requested;    /* of both; 0: not known */
};

static char *owner_of(const struct scene *scene, int order, int which)
{
	struct builder_db *b = build_open("variables.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	int64_t events[2];
	char *path;

	for (int i = 0; i < 2; i++)
		events[i] = build_alloc(b, &(struct build_event){
					       .size = i && scene->second_size ?
							       scene->second_size :
							       512,
					       .requested = scene->requested,
					       .python = MAIN });
	for (int i = 0; i < MOST; i++) {
		const struct seen *seen = &scene->seen[order ? MOST - 1 - i : i];

		if (seen->name)
			build_tensor(b, &(struct build_tensor){
						.allocation = events[seen->allocation],
						.role = VT_ROLE_VARIABLE,
						.probe = seen->probe,
						.name = seen->name,
						.holder = "train.py:main" });
	}
	build_close(b);
	if (vt_analysis_open(&analysis, "variables.db", NULL, &diag))
		fail_msg("%s", diag.text);
	path = vt_attribution_path(&analysis.attribution, (uint32_t)which);
	vt_analysis_close(&analysis);
	remove("variables.db");
	return path;
}

static void check(const struct scene *scene, int order)
{
	for (int which = 0; which < 2; which++) {
		char *owner = owner_of(scene, order, which);

		if (strcmp(owner, scene->owners[which]))
			fail_msg("%s, not %s", owner, scene->owners[which]);
		free(owner);
	}
}

static void the_preferred_name_decides(void **state)
{
	static const struct scene scenes[] = {
		/* An element of what keeps it, whichever was seen first. */
		{ { { 0, 1, "out" }, { 0, 2, "kept.3" } }, { "user/kept", "user/kept" }, 0, 0 },
		/* ... also of what was seen before it was put there, and of what was not seen. */
		{ { { 0, 1, "out" }, { 1, 2, "kept.3" } }, { "user/kept", "user/kept" }, 0, 0 },
		{ { { 0, 1, "out" } }, { "user/out", "user/out" }, 0, 0 },
		/* Names that nobody chose come last. */
		{ { { 0, 1, "_" }, { 0, 2, "result" } }, { "user/result", "user/result" }, 0, 0 },
		{ { { 0, 1, "Out.5" }, { 0, 2, "all.5" } }, { "user/all", "user/all" }, 0, 0 },
		{ { { 0, 1, "log.all.3" }, { 0, 2, "q.3" } }, { "user/q", "user/q" }, 0, 0 },
		{ { { 0, 1, "b" }, { 0, 2, "a" } }, { "user/a", "user/a" }, 0, 0 },
		/* "a, b = make(), make()": each keeps its own. */
		{ { { 0, 1, "a" }, { 1, 1, "b" } }, { "user/a", "user/b" }, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(scenes); i++) {
		check(&scenes[i], 0);
		check(&scenes[i], 1);
	}
}

static void a_larger_block_than_asked_for_has_the_variable_too(void **state)
{
	static const struct scene asked = { .seen = { { 0, 1, "kept.3" } },
					    .owners = { "user/kept", "user/kept" },
					    .second_size = 1024,
					    .requested = 512 };
	static const struct scene unknown = { .seen = { { 0, 1, "kept.3" } },
					      .owners = { "user/kept", "user" },
					      .second_size = 1024 };

	(void)state;
	check(&asked, 0);
	check(&unknown, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_preferred_name_decides),
		cmocka_unit_test(a_larger_block_than_asked_for_has_the_variable_too),
	};

	return cmocka_run_group_tests_name("variables", tests, unit_enter, unit_leave);
}
