/* SPDX-License-Identifier: MIT */
/*
 * What exact sizes mean in one run: a vocabulary of 3001, hidden size 64, an inner one of 256, two
 * rows of 16 tokens.
 */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"
#include "tests/lib/database_builder.h"

#define MAIN    "train.py:40 main"
#define ROUNDED(size) (((size) + 511) / 512 * 512)
#define FORWARD "net.py:9 Net.forward Net@1 < " MAIN

static int64_t see(struct builder_db *b, uint64_t size, enum vt_role role, const char *name,
		   const char *dtype, const char *shape)
{
	int64_t event = build_alloc(b, &(struct build_event){ .size = size, .python = MAIN });

	build_tensor(b, &(struct build_tensor){ .allocation = event,
						.role = role,
						.name = name,
						.dtype = dtype,
						.shape = shape });
	return event;
}

static void load(struct builder_db *b, const char *ids_shape)
{
	see(b, 768256, VT_ROLE_PARAMETER, "embed.weight", "float32", "3001,64");
	see(b, 65536, VT_ROLE_PARAMETER, "layers.0.up.weight", "float32", "256,64");
	see(b, 256, VT_ROLE_PARAMETER, "norm.weight", "float32", "64");
	see(b, 512, VT_ROLE_VARIABLE, "ids", "int64", ids_shape);
	build_module(b, 1, "Net", NULL, "main: model", 1);
	build_module(b, 2, "Embedding", "embed", "main: model", 1);
	/* Positions: no head has as many rows. */
	see(b, 128000, VT_ROLE_PARAMETER, "places.weight", "float32", "500,64");
	build_module(b, 3, "Embedding", "places", "main: model", 1);
	/* Types: what tells sentences apart has as many rows. */
	see(b, 512, VT_ROLE_PARAMETER, "types.weight", "float32", "2,64");
	see(b, 512, VT_ROLE_PARAMETER, "pairs.weight", "float32", "2,64");
	build_module(b, 4, "Embedding", "types", "main: model", 1);
}

static void open_analysis(struct vt_analysis *analysis, const char *path)
{
	struct vt_diag diag = { 0 };

	if (vt_analysis_open(analysis, path, NULL, &diag))
		fail_msg("%s", diag.text);
}

static uint32_t classes_of(const struct vt_analysis *analysis, enum vt_kind kind, uint64_t size)
{
	const struct vt_allocation_common common = { .kind = kind, .size_bytes = size };
	const struct vt_allocation a = { .common = &common, .container = VT_NO_CONTAINER };

	return vt_shapes_classes(&analysis->facts.shapes, &analysis->model, &a);
}

static void sizes_have_classes(void **state)
{
	enum { TOKENS = 2 * 16 };
	static const struct {
		uint64_t size;
		uint32_t classes;
	} cases[] = {
		{ ROUNDED(TOKENS * 3001 * 4), 1u << VT_SHAPE_LOGITS },
		{ ROUNDED(TOKENS * 3001 * 2), 1u << VT_SHAPE_LOGITS },
		{ TOKENS * 3001 * 4, 0 },                          /* no block has that size */
		{ ROUNDED(30 * 3001 * 4), 1u << VT_SHAPE_LOGITS }, /* shifted labels */
		{ ROUNDED(2 * 3001 * 4), 1u << VT_SHAPE_LOGITS },  /* last tokens */
		{ ROUNDED(TOKENS * 3001 * 4) + 512, 0 },
		{ TOKENS * 500 * 4, 0 },
		/* Powers of two are the scores of some number of heads, too. */
		{ TOKENS * 64 * 4, 1u << VT_SHAPE_HIDDEN | 1u << VT_SHAPE_SCORES },
		{ TOKENS * 256 * 4, 1u << VT_SHAPE_INTERMEDIATE | 1u << VT_SHAPE_SCORES },
		{ 2 * 8 * 16 * 16 * 2, 1u << VT_SHAPE_HIDDEN | 1u << VT_SHAPE_SCORES },
		{ 2 * 64 * 16 * 16 * 4, 1u << VT_SHAPE_SCORES },
		{ 256 * 64 * 4, 1u << VT_SHAPE_SCORES | 1u << VT_SHAPE_PARAMETER },
		{ 3001 * 64 * 4 + 256, 1u << VT_SHAPE_PARAMETER },
	};
	struct builder_db *b = build_open("classes.db");
	struct vt_analysis analysis;
	int wrong = 0;

	(void)state;
	load(b, "2,16");
	build_close(b);
	open_analysis(&analysis, "classes.db");
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		uint32_t got = classes_of(&analysis, VT_KIND_BLOCK, cases[i].size);

		if (got == cases[i].classes)
			continue;
		print_error("%zu: %x, not %x\n", i, cases[i].classes, got);
		wrong++;
	}
	assert_int_equal(wrong, 0);
	/* Asked of the driver, it is not rounded. */
	assert_int_equal(classes_of(&analysis, VT_KIND_SEGMENT, TOKENS * 3001 * 4),
			 1u << VT_SHAPE_LOGITS);
	assert_int_equal(classes_of(&analysis, VT_KIND_POOL, ROUNDED(TOKENS * 3001 * 4) + 1), 0);
	vt_analysis_close(&analysis);
}

static void assert_owner(struct vt_analysis *analysis, int64_t event, const char *owner,
			 const char *known_by)
{
	for (uint32_t i = 0; i < analysis->model.nr_allocations; i++) {
		struct vt_verdict verdict;

		if (analysis->model.allocations[i].event != event)
			continue;
		verdict = vt_attribution_judge(&analysis->attribution, i);
		assert_string_equal(vt_attribution_owner(&analysis->attribution, verdict.owner),
				    owner);
		assert_string_equal(vt_evidence_provenances[verdict.provenance], known_by);
	}
}

/* A size may break a tie, and only for a block of at most a thousandth of the peak. */
static void a_size_alone_names_only_what_is_small(void **state)
{
	const struct build_event logits = { .size = ROUNDED(32 * 3001 * 4),
					    .python = "train.py:41 main",
					    .native = "libtorch_cpu.so!at::_ops::_to_copy::call" };
	struct builder_db *b;
	struct vt_analysis analysis;
	int64_t event;

	(void)state;
	for (int is_large = 0; is_large < 2; is_large++) {
		const char *path = is_large ? "large.db" : "small.db";

		b = build_open(path);
		build_alloc(b, &(struct build_event){ .size = is_large ? 64 << 20 : 1 << 30,
						      .kind = VT_KIND_SEGMENT });
		load(b, "2,16");
		build_alloc(b, &(struct build_event){ .size = 1024, .python = FORWARD });
		event = build_alloc(b, &logits);
		build_close(b);
		open_analysis(&analysis, path);
		assert_owner(&analysis, event, is_large ? "inputs" : "logits",
			     is_large ? "frames" : "shape");
		vt_analysis_close(&analysis);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sizes_have_classes, unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(a_size_alone_names_only_what_is_small, unit_enter,
						unit_leave),
	};

	return cmocka_run_group_tests_name("shapes", tests, NULL, NULL);
}
