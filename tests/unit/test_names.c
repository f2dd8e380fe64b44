/* SPDX-License-Identifier: MIT */
/*
 * What the probe saw decides: tensors meet their allocations, roles become owners, names become
 * paths.  One allocation per row, seen after it was made, in two training steps.
 */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"
#include "common/journal_format.h"
#include "tests/lib/database_builder.h"

#define TORCH "/usr/lib/python3/dist-packages/torch"
#define MAIN  "train.py:40 main"
#define NET   "train.py:9 Net.forward Net@1 < " MAIN
#define BLOCK "train.py:20 Block.forward Block@2 < " NET
#define STEP  TORCH "/optim/adamw.py:90 AdamW.step AdamW@7 < train.py:44 main"
#define LEAF  VT_TENSOR_LEAF
#define GRAD  (VT_TENSOR_LEAF | VT_TENSOR_REQUIRES_GRAD)

enum phase { LOAD, FORWARD, BACKWARD, OPTIMIZER };

#define SEEN_MAX 3

static const struct row {
	const char *path;
	const char *known_by;
	enum phase phase;
	enum vt_training training;
	int is_freed; /* inside of the backward pass */
	struct build_event made;
	struct build_tensor seen[SEEN_MAX];
	struct build_event freed;
} rows[] = {
	/* A module's parameter is that, whatever else sees it. */
	{ .path = "weights/layers.0.up.weight",
	  .known_by = "names",
	  .training = VT_TRAINING_TRAINED,
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_VARIABLE, .name = "w", .flags = GRAD },
		    { .role = VT_ROLE_PARAMETER,
		      .name = "layers.0.up.weight",
		      .holder = "model",
		      .shape = "8,8",
		      .flags = GRAD } } },
	{ .path = "weights/layers.0.up.bias",
	  .known_by = "names",
	  .training = VT_TRAINING_FROZEN,
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_PARAMETER,
		      .name = "layers.0.up.bias",
		      .holder = "model",
		      .flags = LEAF } } },
	/* Of two trees with one name each is known by its variable. */
	{ .path = "weights/generator.0.weight",
	  .known_by = "names",
	  .training = VT_TRAINING_TRAINED,
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_PARAMETER,
		      .name = "0.weight",
		      .holder = "main: generator",
		      .flags = GRAD } } },
	{ .path = "weights/critic.0.weight",
	  .known_by = "names",
	  .training = VT_TRAINING_TRAINED,
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_PARAMETER,
		      .name = "0.weight",
		      .holder = "train.py: critic",
		      .flags = GRAD } } },
	/* One storage that two trees share is no clash. */
	{ .path = "weights/shared",
	  .known_by = "names",
	  .training = VT_TRAINING_FROZEN,
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_PARAMETER, .name = "shared", .holder = "model" },
		    { .role = VT_ROLE_PARAMETER, .name = "shared", .holder = "wrapped" } } },
	{ .path = "weights/layers.0.qweight",
	  .known_by = "names",
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_BUFFER, .name = "layers.0.qweight", .dtype = "int32" } } },
	{ .path = "buffers/layers.0.running_mean",
	  .known_by = "names",
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_BUFFER, .name = "layers.0.running_mean" } } },
	{ .path = "buffers/rope.cos",
	  .known_by = "names",
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_ATTRIBUTE, .name = "rope.cos" } } },
	/* The fp32 copy that an optimizer keeps, and a parameter that belongs to no module. */
	{ .path = "optimizer/masters.0",
	  .known_by = "names",
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_MASTER,
		      .name = "masters.0",
		      .shape = "8,8",
		      .dtype = "float64",
		      .flags = GRAD } } },
	{ .path = "weights/latent",
	  .known_by = "names",
	  .training = VT_TRAINING_TRAINED,
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_MASTER, .name = "latent", .shape = "8,8", .flags = GRAD },
		    { .role = VT_ROLE_INPUT, .name = "x", .flags = GRAD } } },
	{ .path = "weights/slope",
	  .known_by = "names",
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_VARIABLE, .name = "slope", .flags = GRAD } } },
	{ .path = "user/averages",
	  .known_by = "names",
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_VARIABLE,
		      .name = "averages.layers.0",
		      .holder = "train.py:main",
		      .flags = LEAF } } },
	/* Optimizers of no library: zeros in the shape of a parameter, and torch's own words. */
	{ .path = "optimizer",
	  .known_by = "lifetime",
	  .made = { .python = MAIN, .native = "libtorch_cpu.so!at::_ops::zeros_like::call" },
	  .seen = { { .role = VT_ROLE_VARIABLE, .name = "speeds.0", .shape = "8,8" } } },
	{ .path = "user/counts",
	  .known_by = "names",
	  .made = { .python = MAIN, .native = "libtorch_cpu.so!at::_ops::zeros_like::call" },
	  .seen = { { .role = VT_ROLE_VARIABLE, .name = "counts.0", .shape = "3,3" } } },
	{ .path = "user/trained",
	  .known_by = "names",
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_VARIABLE, .name = "trained.state.epoch", .shape = "1" } } },
	{ .path = "kv cache/layers.0.past.0.k",
	  .known_by = "names",
	  .phase = FORWARD,
	  .made = { .python = BLOCK },
	  .seen = { { .role = VT_ROLE_ATTRIBUTE,
		      .name = "layers.0.past.0.k",
		      .shape = "2,8,64,64" } } },
	{ .path = "user/self.queue",
	  .known_by = "names",
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_VARIABLE, .name = "self.queue.3", .flags = LEAF } } },
	{ .path = "inputs/input_ids",
	  .known_by = "names",
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_INPUT, .name = "input_ids", .flags = LEAF } } },
	/* What a module made stays its producer's, whoever gets or holds it. */
	{ .path = "activations/other",
	  .known_by = "frames",
	  .phase = FORWARD,
	  .made = { .python = BLOCK },
	  .seen = { { .role = VT_ROLE_INPUT, .name = "hidden", .flags = LEAF },
		    { .role = VT_ROLE_VARIABLE, .name = "hidden" } } },
	{ .path = "activations/other",
	  .known_by = "autograd",
	  .phase = FORWARD,
	  .is_freed = 1,
	  .made = { .python = BLOCK },
	  .seen = { { .role = VT_ROLE_ATTRIBUTE, .name = "layers.0.last_hidden" } },
	  .freed = { .node = "AddmmBackward0", .sequence = 300 } },
	{ .path = "kv cache/layers[3].keys",
	  .known_by = "names",
	  .phase = FORWARD,
	  .made = { .python = BLOCK },
	  .seen = { { .role = VT_ROLE_CACHE, .name = "layers[3].keys", .holder = "past" } } },
	/* The name is that of the role that decided. */
	{ .path = "inputs/batch",
	  .known_by = "names",
	  .phase = FORWARD,
	  .made = { .python = MAIN },
	  .seen = { { .role = VT_ROLE_ATTRIBUTE, .name = "last" },
		    { .role = VT_ROLE_INPUT, .name = "batch", .flags = LEAF } } },
	{ .path = "gradients/layers.0.up.weight",
	  .known_by = "names",
	  .phase = BACKWARD,
	  .made = { .node = "AddmmBackward0", .sequence = 300 },
	  .seen = { { .role = VT_ROLE_GRADIENT,
		      .name = "layers.0.up.weight",
		      .holder = "model",
		      .shape = "8,8" } } },
	{ .path = "optimizer/layers.0.up.weight.exp_avg",
	  .known_by = "names",
	  .phase = OPTIMIZER,
	  .made = { .python = STEP },
	  .seen = { { .role = VT_ROLE_OPTIMIZER,
		      .name = "layers.0.up.weight.exp_avg",
		      .holder = "model",
		      .shape = "8,8" } } },
};

static struct {
	int64_t events[VT_ARRAY_SIZE(rows)];
} g;

static void make(struct builder_db *b, enum phase phase)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(rows); i++) {
		struct build_event event = rows[i].made;

		if (rows[i].phase != phase)
			continue;
		event.size = 512 * (i + 1);
		if (phase == FORWARD)
			event.forward = 300;
		g.events[i] = build_alloc(b, &event);
		for (size_t s = 0; s < SEEN_MAX && rows[i].seen[s].role; s++) {
			struct build_tensor tensor = rows[i].seen[s];

			tensor.allocation = g.events[i];
			build_tensor(b, &tensor);
		}
	}
}

static void step(struct builder_db *b, int has_rows)
{
	int64_t kept = build_alloc(
		b, &(struct build_event){ .size = 512, .python = BLOCK, .forward = 300 });

	if (has_rows)
		make(b, FORWARD);
	build_free(b, kept, &(struct build_event){ .node = "AddmmBackward0", .sequence = 300 });
	if (has_rows)
		make(b, BACKWARD);
	for (size_t i = 0; has_rows && i < VT_ARRAY_SIZE(rows); i++)
		if (rows[i].is_freed)
			build_free(b, g.events[i], &rows[i].freed);
	build_mark(b, "Optimizer.step#AdamW.step", VT_MARK_BEGIN, VT_SOURCE_RECORD_FUNCTION);
	if (has_rows)
		make(b, OPTIMIZER);
	build_mark(b, "Optimizer.step#AdamW.step", VT_MARK_END, VT_SOURCE_RECORD_FUNCTION);
	kept = build_alloc(b, &(struct build_event){ .size = 512, .python = "train.py:45 main" });
	build_free(b, kept, &(struct build_event){ .python = "train.py:45 main" });
}

static void open_analysis(struct vt_analysis *analysis, const char *path)
{
	struct vt_diag diag = { 0 };

	if (vt_analysis_open(analysis, path, NULL, &diag))
		fail_msg("%s", diag.text);
}

static uint32_t index_at(const struct vt_analysis *analysis, int64_t event)
{
	for (uint32_t i = 0; i < analysis->model.nr_allocations; i++)
		if (analysis->model.allocations[i].event == event)
			return i;
	fail_msg("no allocation at event %lld", (long long)event);
	return 0;
}

static int is_as_said(struct vt_analysis *analysis, const struct row *row, int64_t event)
{
	uint32_t index = index_at(analysis, event);
	struct vt_verdict verdict = vt_attribution_judge(&analysis->attribution, index);
	const char *known_by = vt_evidence_provenances[verdict.provenance];
	char *path = vt_attribution_path(&analysis->attribution, index);
	int is_right = !strcmp(path, row->path) && !strcmp(known_by, row->known_by) &&
		       verdict.training == row->training;

	if (!is_right)
		print_error("%s by %s (%d), not %s by %s (%d), rule %s\n", row->path, row->known_by,
			    row->training, path, known_by, verdict.training,
			    verdict.rule ? analysis->rules.rules[verdict.rule - 1].name : "none");
	free(path);
	return is_right;
}

static void every_row_gets_its_name(void **state)
{
	struct builder_db *b = build_open("names.db");
	struct vt_analysis analysis;
	int wrong = 0;

	(void)state;
	make(b, LOAD);
	step(b, 0);
	step(b, 1);
	step(b, 0);
	build_close(b);
	open_analysis(&analysis, "names.db");
	for (size_t i = 0; i < VT_ARRAY_SIZE(rows); i++)
		wrong += !is_as_said(&analysis, &rows[i], g.events[i]);
	assert_int_equal(wrong, 0);
	vt_analysis_close(&analysis);
}

static const char *name_at(const struct vt_analysis *analysis, int64_t event)
{
	const struct vt_tensor *tensor = vt_names_find(
		&analysis->facts.names, index_at(analysis, event), VT_NAMES_ANY_ROLE);

	return tensor ? vt_model_text(&analysis->model, tensor->name) : "nobody";
}

/* An address is given out again and again; a name belongs to who was there when it was seen. */
static void names_follow_the_moment(void **state)
{
	const struct build_event event = { .size = 4096, .address = 0x7f1000000000 };
	struct builder_db *b = build_open("moment.db");
	struct vt_analysis analysis;
	int64_t first, second, third, outside;

	(void)state;
	first = build_alloc(b, &event);
	build_free(b, first, NULL);
	second = build_alloc(b, &event);
	build_tensor(b, &(struct build_tensor){ .allocation = second,
						.role = VT_ROLE_PARAMETER,
						.name = "second" });
	build_free(b, second, NULL);
	/* Nobody is there: seen between two. */
	build_tensor(b, &(struct build_tensor){ .allocation = second,
						.role = VT_ROLE_PARAMETER,
						.name = "gone" });
	third = build_alloc(b, &event);
	/* A program's own pool: the storage begins inside of what the driver gave. */
	outside = build_alloc(b, &(struct build_event){ .size = 1 << 20, .kind = VT_KIND_SEGMENT });
	build_tensor(b, &(struct build_tensor){ .allocation = outside,
						.role = VT_ROLE_PARAMETER,
						.name = "inside",
						.offset = 4096 });
	build_close(b);
	open_analysis(&analysis, "moment.db");
	assert_string_equal(name_at(&analysis, first), "nobody");
	assert_string_equal(name_at(&analysis, second), "second");
	assert_string_equal(name_at(&analysis, third), "nobody");
	assert_string_equal(name_at(&analysis, outside), "inside");
	vt_analysis_close(&analysis);
}

static char *module_at(const struct vt_analysis *analysis, uint64_t address, const char *type,
		       int64_t event)
{
	const struct vt_torch_module *module = NULL;

	for (uint32_t id = 1; id < analysis->model.strings.nr; id++)
		if (vt_model_text(&analysis->model, id) &&
		    strcmp(vt_model_text(&analysis->model, id), type) == 0)
			module = vt_names_module(
				&analysis->facts.names, address,
				vt_string_table_first(&analysis->model.strings, id), event);
	return module ? vt_names_module_path(&analysis->facts.names, module) : vt_xstrdup("none");
}

static void assert_module(const struct vt_analysis *analysis, uint64_t address, const char *type,
			  int64_t event, const char *expected)
{
	char *path = module_at(analysis, address, type, event);

	assert_string_equal(path, expected);
	free(path);
}

static void modules_have_paths(void **state)
{
	const struct build_event event = { .size = 512, .python = BLOCK };
	struct builder_db *b = build_open("modules.db");
	struct vt_analysis analysis;

	(void)state;
	build_alloc(b, &event);
	build_module(b, 1, "Net", NULL, "model", 1);
	build_module(b, 2, "Block", "layers.0", "model", 1);
	build_module(b, 9, "Loss", NULL, "criterion", 9);
	build_alloc(b, &event);
	/* The object died, another one was made in its place. */
	build_module(b, 2, "Block", "layers.7", "model", 1);
	build_close(b);
	open_analysis(&analysis, "modules.db");
	/* Two roots do not clash by being roots. */
	assert_module(&analysis, 1, "Net", 1, "");
	assert_module(&analysis, 2, "Block", 1, "layers.0");
	assert_module(&analysis, 2, "Block", 2, "layers.7");
	assert_module(&analysis, 2, "Loss", 2, "none");
	assert_module(&analysis, 3, "Block", 2, "none");
	vt_analysis_close(&analysis);
}

/* More owners than fit in a byte, and each is found again. */
static void many_variables_are_many_owners(void **state)
{
	enum { NR = 300 };
	struct builder_db *b = build_open("many.db");
	struct vt_analysis analysis;
	int64_t last = 0;

	(void)state;
	for (int i = 0; i < NR; i++) {
		char name[32];

		snprintf(name, sizeof(name), "outputs_%d", i);
		last = build_alloc(b, &(struct build_event){ .size = 512, .python = MAIN });
		build_tensor(b, &(struct build_tensor){ .allocation = last,
							.role = VT_ROLE_VARIABLE,
							.name = name,
							.holder = name });
	}
	build_close(b);
	open_analysis(&analysis, "many.db");
	for (uint32_t i = 0; i < NR; i++)
		assert_int_equal(vt_attribution_judge(&analysis.attribution, i).owner, i);
	assert_string_equal(vt_attribution_owner(&analysis.attribution, NR - 1),
			    "user/outputs_299");
	vt_analysis_close(&analysis);
}

static int64_t add_cache(struct builder_db *b, const char *holder, const char *name)
{
	int64_t event = build_alloc(b, &(struct build_event){ .size = 512, .python = MAIN });

	build_tensor(b, &(struct build_tensor){ .allocation = event,
						.role = VT_ROLE_CACHE,
						.name = name,
						.holder = holder,
						.shape = "4,8,16,8" });
	return event;
}

/* Two models have a cache each: their tensors have one name. */
static void caches_of_one_name_have_two_paths(void **state)
{
	static const char *const paths[] = { "kv cache/cache.layers.0.keys",
					     "kv cache/draft.layers.0.keys", "kv cache/1.keys",
					     "kv cache/main: k_cache", "kv cache/main: v_cache" };
	struct builder_db *b = build_open("caches.db");
	struct vt_analysis analysis;
	int64_t events[] = { add_cache(b, "main: cache", "layers.0.keys"),
			     add_cache(b, "main: draft", "layers.0.keys"),
			     add_cache(b, "main: other", "1.keys"),
			     add_cache(b, "main: k_cache", NULL),
			     add_cache(b, "main: v_cache", NULL) };

	(void)state;
	build_close(b);
	open_analysis(&analysis, "caches.db");
	for (size_t i = 0; i < VT_ARRAY_SIZE(events); i++) {
		char *path = vt_attribution_path(&analysis.attribution,
						 index_at(&analysis, events[i]));

		assert_string_equal(path, paths[i]);
		free(path);
	}
	vt_analysis_close(&analysis);
}

static void add_parameter(struct builder_db *b, int64_t event, const char *name)
{
	build_tensor(b, &(struct build_tensor){ .allocation = event,
						.role = VT_ROLE_PARAMETER,
						.name = name,
						.holder = "main: model",
						.shape = "16,8" });
}

/* As named_parameters() says: a state's name is made of it. */
static void tied_weights_have_the_first_name(void **state)
{
	struct builder_db *b = build_open("tied.db");
	int64_t event = build_alloc(b, &(struct build_event){ .size = 512, .python = MAIN });
	struct vt_analysis analysis;
	char *path;

	(void)state;
	add_parameter(b, event, "embed.weight");
	add_parameter(b, event, "head.weight");
	build_close(b);
	open_analysis(&analysis, "tied.db");
	path = vt_attribution_path(&analysis.attribution, index_at(&analysis, event));
	assert_string_equal(path, "weights/embed.weight");
	free(path);
	vt_analysis_close(&analysis);
}

static int64_t add_vector(struct builder_db *b, enum vt_role role, uint64_t size, const char *dtype,
			  const char *shape)
{
	int64_t event = build_alloc(b, &(struct build_event){ .size = size, .python = MAIN });

	build_tensor(b, &(struct build_tensor){ .allocation = event,
						.role = role,
						.name = "x",
						.shape = shape,
						.dtype = dtype,
						.flags = GRAD });
	return event;
}

/* ZeRO: all weights of half precision once more in one vector; a scalar is none of that. */
static void a_vector_of_all_weights_is_their_copy(void **state)
{
	static const char *const dtypes[] = { "bfloat16", "float32" };

	(void)state;
	for (int is_single = 0; is_single < 2; is_single++) {
		struct builder_db *b = build_open(dtypes[is_single]);
		struct vt_analysis analysis;
		int64_t flat, scalar;

		add_vector(b, VT_ROLE_PARAMETER, 1 << 20, dtypes[is_single], "1024,512");
		flat = add_vector(b, VT_ROLE_MASTER, 1 << 21, "float32", "524288");
		scalar = add_vector(b, VT_ROLE_MASTER, 4, "float32", "1");
		build_close(b);
		open_analysis(&analysis, dtypes[is_single]);
		assert_string_equal(
			vt_attribution_owner(&analysis.attribution,
					     vt_attribution_judge(&analysis.attribution,
								  index_at(&analysis, flat))
						     .owner),
			is_single ? "weights" : "optimizer");
		assert_string_equal(
			vt_attribution_owner(&analysis.attribution,
					     vt_attribution_judge(&analysis.attribution,
								  index_at(&analysis, scalar))
						     .owner),
			"weights");
		vt_analysis_close(&analysis);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_row_gets_its_name, unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(names_follow_the_moment, unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(modules_have_paths, unit_enter, unit_leave),
		cmocka_unit_test_setup_teardown(many_variables_are_many_owners, unit_enter,
						unit_leave),
		cmocka_unit_test_setup_teardown(caches_of_one_name_have_two_paths, unit_enter,
						unit_leave),
		cmocka_unit_test_setup_teardown(tied_weights_have_the_first_name, unit_enter,
						unit_leave),
		cmocka_unit_test_setup_teardown(a_vector_of_all_weights_is_their_copy, unit_enter,
						unit_leave),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
