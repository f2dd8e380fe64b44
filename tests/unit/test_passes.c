/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"
#include "tests/lib/database_builder.h"

#define MAIN	 " < run.py:40 main"
#define CHAT	 " < app.py:2 Chat.forward Chat@9"
#define GENERATE "lib.py:7 Mixin.sample Lm@1 < lib.py:3 Mixin.generate Lm@1" MAIN

static int64_t alloc(struct builder_db *b, const char *python, uint64_t size)
{
	return build_alloc(b, &(struct build_event){ .size = size, .python = python });
}

/* Passes as letters: c call, p prefill, d decode step; with the number of their generation. */
static void check(const char *expected)
{
	static const char letters[] = "cpd";
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	struct vt_buffer text;

	if (vt_analysis_open(&analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
	vt_buffer_init(&text);
	for (uint32_t i = 0; i < analysis.stages.passes.nr; i++) {
		const struct vt_pass *pass = &analysis.stages.passes.passes[i];
		uint32_t span = vt_stages_span_at(&analysis.stages, pass->first_event);

		vt_buffer_printf(&text, "%s%c%u", i ? " " : "", letters[pass->kind],
				 pass->generation);
		if (pass->generation)
			assert_int_equal(analysis.stages.spans[span].stage, VT_STAGE_GENERATION);
	}
	assert_string_equal(text.data ? text.data : "", expected);
	vt_buffer_release(&text);
	vt_analysis_close(&analysis);
	assert_int_equal(remove("run.db"), 0);
}

static void a_call_is_one_pass_however_deep_it_goes(void **state)
{
	struct builder_db *b = build_open("run.db");

	(void)state;
	alloc(b, "net.py:1 Embedding.forward Embedding@2" MAIN, 512);
	alloc(b, "net.py:2 Net.forward Net@1" MAIN, 512);
	alloc(b, "net.py:1 Embedding.forward Embedding@2 < net.py:2 Net.forward Net@1" MAIN, 512);
	alloc(b, "run.py:40 main", 512);
	alloc(b, "net.py:2 Net.forward Net@1" MAIN, 512);
	build_close(b);
	check("c0 c0 c0");
}

static void the_loop_that_generates_makes_passes_of_its_calls(void **state)
{
	struct builder_db *b = build_open("run.db");

	(void)state;
	for (int request = 0; request < 2; request++) {
		alloc(b, "enc.py:5 Encoder.forward Encoder@3 < " GENERATE, 512);
		for (int token = 0; token < 3; token++) {
			alloc(b, "lm.py:5 Lm.forward Lm@1 < " GENERATE, 512);
			alloc(b, GENERATE, 512);
		}
		alloc(b, "run.py:40 main", 512);
	}
	build_close(b);
	check("c1 p1 d1 d1 c2 p2 d2 d2");
}

static void a_module_around_the_loop_is_no_pass(void **state)
{
	struct builder_db *b = build_open("run.db");

	(void)state;
	for (int token = 0; token < 2; token++) {
		alloc(b, "lm.py:5 Lm.forward Lm@1 < " GENERATE CHAT, 512);
		alloc(b, GENERATE CHAT, 512);
	}
	build_close(b);
	check("p1 d1");
}

/* What one call of a hand-written loop allocates. */
struct call {
	uint64_t input;
	uint64_t cache;
};

/*
 * A loop that holds what a call returned until the next one did, or for good; the prompt is read at
 * a line of its own.
 */
static void play(const struct call *calls, size_t nr, int keeps_all)
{
	struct builder_db *b = build_open("run.db");
	int64_t held = 0;

	for (size_t i = 0; i < nr; i++) {
		const char *line = i ? "run.py:45 main" : "run.py:42 main";
		char *model = vt_xasprintf("lm.py:5 Lm.forward Lm@1 < %s", line);
		char *cache = vt_xasprintf("lm.py:20 Attention.forward Attention@2 < %s", model);
		int64_t input = alloc(b, model, calls[i].input), output;

		output = alloc(b, cache, calls[i].cache);
		build_free(b, input, &(struct build_event){ .python = model });
		alloc(b, line, 512);
		if (held && !keeps_all)
			build_free(b, held, &(struct build_event){ .python = line });
		held = output;
		free(model);
		free(cache);
	}
	build_close(b);
}

static void a_cache_that_grows_from_call_to_call_is_a_generation(void **state)
{
	static const struct call with_prompt[] = {
		{ 4096, 8192 }, { 512, 8704 }, { 512, 9216 }
	};
	static const struct call rounded[] = {
		{ 512, 1024 }, { 512, 1024 }, { 512, 1536 }, { 512, 1536 }
	};

	(void)state;
	play(with_prompt, VT_ARRAY_SIZE(with_prompt), 0);
	check("p1 d1 d1");
	play(rounded, VT_ARRAY_SIZE(rounded), 0);
	check("p1 d1 d1 d1");
}

/* How many blocks of the recording are a cache. */
static uint32_t count_caches(void)
{
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	uint32_t nr = 0;

	if (vt_analysis_open(&analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
	for (uint32_t i = 0; i < analysis.model.nr_allocations; i++) {
		struct vt_verdict verdict = vt_attribution_judge(&analysis.attribution, i);

		nr += !strcmp(vt_attribution_owner(&analysis.attribution, verdict.owner),
			      "kv cache");
	}
	vt_analysis_close(&analysis);
	return nr;
}

/* The loop's function returns, and the model is called again without a cache. */
static void the_last_token_belongs_to_the_loop(void **state)
{
	static const char scores[] = "lm.py:5 Lm.forward Lm@1 < run.py:70 main";
	struct builder_db *b = build_open("run.db");
	int64_t held = 0;

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		const char *line =
			i ? "run.py:45 loop < run.py:60 main" : "run.py:42 loop < run.py:60 main";
		char *model = vt_xasprintf("lm.py:5 Lm.forward Lm@1 < %s", line);
		char *cache = vt_xasprintf("lm.py:20 Attention.forward Attention@2 < %s", model);
		int64_t input = alloc(b, model, i ? 512 : 4096);
		int64_t output = alloc(b, cache, 8192 + i * 512);

		build_free(b, input, &(struct build_event){ .python = model });
		alloc(b, line, 512);
		if (held)
			build_free(b, held, &(struct build_event){ .python = line });
		held = output;
		free(model);
		free(cache);
	}
	build_free(b, held, &(struct build_event){ .python = "run.py:60 main" });
	build_free(b, alloc(b, scores, 4096), &(struct build_event){ .python = scores });
	build_close(b);
	assert_int_equal(count_caches(), 4);
	check("p1 d1 d1 d1 c0");
}

/* The cache of the prompt, which the same module made at another line, belongs to it as well. */
static void what_a_loop_hands_on_is_its_cache(void **state)
{
	struct builder_db *b = build_open("run.db");
	static const char model[] = "lm.py:5 Lm.forward Lm@1";
	int64_t cache = 0;
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	uint32_t nr_caches = 0;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		const char *main = i ? "run.py:45 main" : "run.py:42 main";
		char *python = vt_xasprintf("lm.py:%d Attention.forward Attention@2 < %s < %s",
					    i ? 20 : 30, model, main);
		char *head = vt_xasprintf("lm.py:9 Head.forward Head@3 < %s < %s", model, main);
		int64_t input = alloc(b, python, i ? 512 : 4096);
		int64_t fresh = alloc(b, python, 8192 + 512 * i), output = alloc(b, head, 512);

		build_free(b, input, &(struct build_event){ .python = python });
		alloc(b, main, 512);
		if (cache) {
			build_free(b, cache, &(struct build_event){ .python = main });
			build_free(b, cache + 1, &(struct build_event){ .python = main });
		}
		assert_int_equal(output, fresh + 1);
		cache = fresh;
		free(python);
		free(head);
	}
	build_close(b);
	if (vt_analysis_open(&analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
	for (uint32_t i = 0; i < analysis.model.nr_allocations; i++) {
		struct vt_verdict verdict = vt_attribution_judge(&analysis.attribution, i);
		const char *owner = vt_attribution_owner(&analysis.attribution, verdict.owner);
		int is_cache = strcmp(owner, "kv cache") == 0;

		assert_int_equal(is_cache,
				 analysis.model.allocations[i].common->size_bytes >= 8192);
		nr_caches += (uint32_t)is_cache;
	}
	assert_int_equal(nr_caches, 3);
	vt_analysis_close(&analysis);
}

/*
 * A picture in parts: what a part begins with has the sizes of what the last part's call returned,
 * which was gone by then.
 */
static void parts_of_a_picture_are_no_generation(void **state)
{
	static const char render[] = "run.py:50 render < run.py:74 main";
	static const char net[] = "net.py:9 Net.forward Net@1 < run.py:51 render < run.py:74 main";
	static const uint64_t kib = 1024;
	struct builder_db *b = build_open("run.db");

	(void)state;
	for (int part = 0; part < 4; part++) {
		int64_t ids[5], input;

		ids[0] = alloc(b, render, 64 * kib);
		ids[1] = alloc(b, render, 192 * kib);
		input = alloc(b, net, 256 * kib);
		ids[2] = alloc(b, net, 192 * kib);
		ids[3] = alloc(b, net, 64 * kib);
		build_free(b, input, &(struct build_event){ .python = net });
		ids[4] = alloc(b, render, 64 * kib);
		alloc(b, render, 4 * kib);
		for (int i = 0; i < 5; i++)
			build_free(b, ids[i], &(struct build_event){ .python = "run.py:74 main" });
	}
	build_close(b);
	check("c0 c0 c0 c0");
}

#define LAYERS 2

/* One call's keys and values, at the same line of each layer. */
static void fill(struct builder_db *b, int64_t *cache, const char *line, uint64_t size)
{
	for (int i = 0; i < 2 * LAYERS; i++) {
		char *python = vt_xasprintf("lm.py:20 Attention.forward Attention@%d < "
					    "lm.py:5 Lm.forward Lm@1 < %s",
					    2 + i / 2, line);

		cache[i] = alloc(b, python, size);
		free(python);
	}
}

/* The program's own copies take the cache's place. */
static void exchange(struct builder_db *b, int64_t *cache, const char *line, uint64_t size)
{
	int64_t old[2 * LAYERS];

	memcpy(old, cache, sizeof(old));
	for (int i = 0; i < 2 * LAYERS; i++)
		cache[i] = alloc(b, line, size);
	for (int i = 0; i < 2 * LAYERS; i++)
		build_free(b, old[i], &(struct build_event){ .python = line });
}

static uint64_t sum_caches(uint64_t *others)
{
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	uint64_t bytes = 0;

	if (vt_analysis_open(&analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
	*others = 0;
	for (uint32_t i = 0; i < analysis.model.nr_allocations; i++) {
		struct vt_verdict verdict = vt_attribution_judge(&analysis.attribution, i);
		const char *owner = vt_attribution_owner(&analysis.attribution, verdict.owner);

		if (strcmp(owner, "kv cache") == 0)
			bytes += analysis.model.allocations[i].common->size_bytes;
		else
			*others += analysis.model.allocations[i].common->size_bytes;
	}
	vt_analysis_close(&analysis);
	return bytes;
}

/*
 * Beams: three for the prompt, then sorted behind each call; the tokens, which grow as well, are
 * one block and no cache.
 */
static void copies_that_the_loop_makes_of_its_cache_are_cache(void **state)
{
	struct builder_db *b = build_open("run.db");
	int64_t cache[2 * LAYERS], old[2 * LAYERS], tokens = 0;
	uint64_t expected = 0, others;

	(void)state;
	alloc(b, "lm.py:5 Lm.forward Lm@1 < run.py:42 main", 4096);
	fill(b, cache, "run.py:42 main", 8192);
	exchange(b, cache, "run.py:43 main", 3 * 8192);
	expected += 4 * 2 * LAYERS * 8192;
	for (uint64_t i = 1; i < 4; i++) {
		int64_t last = tokens, input;

		exchange(b, cache, "run.py:44 main", 3 * (8192 + (i - 1) * 512));
		tokens = alloc(b, "run.py:45 main", 40960 + 512 * i);
		if (last)
			build_free(b, last, &(struct build_event){ .python = "run.py:45 main" });
		input = alloc(b, "lm.py:5 Lm.forward Lm@1 < run.py:46 main", 512);
		memcpy(old, cache, sizeof(old));
		fill(b, cache, "run.py:46 main", 3 * (8192 + i * 512));
		build_free(b, input, &(struct build_event){ .python = "run.py:46 main" });
		for (int k = 0; k < 2 * LAYERS; k++)
			build_free(b, old[k], &(struct build_event){ .python = "run.py:46 main" });
		expected += 3 * 2 * LAYERS * (2 * 8192 + (2 * i - 1) * 512);
	}
	alloc(b, "run.py:47 main", 512);
	build_close(b);
	assert_int_equal(sum_caches(&others), expected);
	assert_int_equal(others, 4096 + 3 * (40960 + 512) + (1 + 2) * 512 + 3 * 512 + 512);
	check("p1 d1 d1 d1");
}

/* The program ends in the middle of a call, with what the first layer needs for itself. */
static void a_loop_that_died_in_a_call_has_its_cache(void **state)
{
	struct builder_db *b = build_open("run.db");
	int64_t cache[2 * LAYERS], old[2 * LAYERS];
	uint64_t expected = 0, others;

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		alloc(b, "lm.py:5 Lm.forward Lm@1 < run.py:46 main", 512);
		memcpy(old, cache, sizeof(old));
		fill(b, cache, "run.py:46 main", 8192 + 512 * i);
		for (int k = 0; i && k < 2 * LAYERS; k++)
			build_free(b, old[k], &(struct build_event){ .python = "run.py:46 main" });
		exchange(b, cache, "run.py:44 main", 8192 + 512 * i);
		expected += 2 * 2 * LAYERS * (8192 + 512 * i);
	}
	alloc(b, "lm.py:5 Lm.forward Lm@1 < run.py:46 main", 512);
	alloc(b,
	      "lm.py:20 Attention.forward Attention@2 < lm.py:5 Lm.forward Lm@1 < "
	      "run.py:46 main",
	      512);
	build_close(b);
	assert_int_equal(sum_caches(&others), expected);
	check("p1 d1 d1 d1 d1");
}

/* A loop under a function that generates, whose model shows its cache by nothing but growth. */
static void what_grows_under_a_frame_that_generates_is_cache(void **state)
{
	struct builder_db *b = build_open("run.db");
	int64_t cache[2 * LAYERS], old[2 * LAYERS];
	uint64_t expected = 0, others;

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		memcpy(old, cache, sizeof(old));
		fill(b, cache, GENERATE, 8192 + 512 * i);
		alloc(b, GENERATE, 512);
		for (int k = 0; i && k < 2 * LAYERS; k++)
			build_free(b, old[k], &(struct build_event){ .python = GENERATE });
		expected += 2 * LAYERS * (8192 + 512 * i);
	}
	build_close(b);
	assert_int_equal(sum_caches(&others), expected);
	assert_int_equal(others, 4 * 512);
	check("p1 d1 d1 d1");
}

/* Called on the whole sequence again, a model hands over nothing: its result grows with that. */
static void what_a_norm_makes_of_a_whole_sequence_is_no_cache(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct build_event made = { .python =
					    "lm.py:30 LayerNorm.forward LayerNorm@2 < "
					    "lm.py:5 Lm.forward Lm@1 < " GENERATE,
				    .native = "libtorch_cpu.so!at::_ops::native_layer_norm::call" };
	int64_t result = 0;
	uint64_t others;

	(void)state;
	for (uint64_t i = 0; i < 5; i++) {
		int64_t old = result;

		made.size = 2048 + 512 * i;
		result = build_alloc(b, &made);
		alloc(b, GENERATE, 512);
		if (old)
			build_free(b, old, &(struct build_event){ .python = GENERATE });
	}
	build_close(b);
	assert_int_equal(sum_caches(&others), 0);
	check("p1 d1 d1 d1 d1");
}

/* Layers keep a piece of every call, and put all pieces together, or do not. */
static void play_pieces(int reads_all)
{
	struct builder_db *b = build_open("run.db");

	for (uint64_t i = 0; i < 4; i++) {
		alloc(b, "lm.py:5 Lm.forward Lm@1 < run.py:42 main", i ? 512 : 4096);
		for (int layer = 0; layer < LAYERS; layer++) {
			char *python = vt_xasprintf("lm.py:20 Attention.forward Attention@%d < "
						    "lm.py:5 Lm.forward Lm@1 < run.py:42 main",
						    2 + layer);
			int64_t whole;

			alloc(b, python, i ? 1024 : 8192);
			whole = alloc(b, python, reads_all ? 8192 + i * 1024 : 2048);
			build_free(b, whole, &(struct build_event){ .python = python });
			free(python);
		}
		alloc(b, "run.py:43 main", 512);
	}
	build_close(b);
}

static void pieces_that_are_read_together_are_a_cache(void **state)
{
	uint64_t others;

	(void)state;
	play_pieces(1);
	assert_int_equal(sum_caches(&others), LAYERS * (8192 + 3 * 1024));
	check("p1 d1 d1 d1");
	play_pieces(0);
	assert_int_equal(sum_caches(&others), 0);
	check("c0 c0 c0 c0");
}

static void requests_of_any_length_are_calls(void **state)
{
	static const struct call equal[] = { { 512, 1024 }, { 512, 1024 }, { 512, 1024 } };
	static const struct call longer[] = { { 512, 1024 }, { 1024, 2048 }, { 1536, 3072 } };
	static const struct call shrinking[] = { { 512, 4096 }, { 512, 3072 }, { 512, 2048 } };

	(void)state;
	play(equal, VT_ARRAY_SIZE(equal), 0);
	check("c0 c0 c0");
	play(longer, VT_ARRAY_SIZE(longer), 0);
	check("c0 c0 c0");
	play(shrinking, VT_ARRAY_SIZE(shrinking), 0);
	check("c0 c0 c0");
}

/* What is collected in a list is replaced by nothing. */
static void outputs_that_stay_are_no_cache(void **state)
{
	static const struct call calls[] = {
		{ 512, 1024 }, { 512, 1536 }, { 512, 2048 }, { 512, 2560 }
	};

	(void)state;
	play(calls, VT_ARRAY_SIZE(calls), 1);
	check("c0 c0 c0 c0");
}

static void what_follows_a_loop_without_showing_itself_is_other(void **state)
{
	static const struct call calls[] = { { 4096, 8192 }, { 512, 8704 }, { 512, 9216 } };
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };

	(void)state;
	play(calls, VT_ARRAY_SIZE(calls), 0);
	if (vt_analysis_open(&analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
	assert_int_equal(analysis.stages.nr_spans, 2);
	assert_int_equal(analysis.stages.spans[0].stage, VT_STAGE_GENERATION);
	assert_int_equal(analysis.stages.spans[1].stage, VT_STAGE_OTHER);
	vt_analysis_close(&analysis);
}

/* A head beside the model is of the loop that calls it, for the last token as well. */
static void a_head_that_a_loop_calls_is_of_it_to_the_last_token(void **state)
{
	static const char line[] = "run.py:45 main",
			  model[] = "lm.py:5 Lm.forward Lm@1 < run.py:45 main",
			  cache[] =
				  "lm.py:20 Attention.forward Attention@2 < lm.py:5 Lm.forward "
				  "Lm@1 < run.py:45 main",
			  head[] = "head.py:3 Head.forward Head@3 < run.py:46 main";
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	int64_t held = 0, scores = 0;

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		int64_t input = alloc(b, model, i ? 512 : 4096);
		int64_t output = alloc(b, cache, 8192 + i * 512);

		build_free(b, input, &(struct build_event){ .python = model });
		scores = alloc(b, head, 2048);
		alloc(b, line, 512);
		if (held)
			build_free(b, held, &(struct build_event){ .python = line });
		held = output;
	}
	alloc(b, "run.py:50 main", 512);
	build_close(b);
	if (vt_analysis_open(&analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
	assert_int_equal(analysis.stages.nr_spans, 2);
	assert_int_equal(analysis.stages.spans[0].stage, VT_STAGE_GENERATION);
	assert_true(analysis.stages.spans[0].last_event >= scores);
	assert_int_equal(analysis.stages.spans[1].stage, VT_STAGE_OTHER);
	vt_analysis_close(&analysis);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_enter, unit_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_is_one_pass_however_deep_it_goes),
		TEST(the_loop_that_generates_makes_passes_of_its_calls),
		TEST(a_cache_that_grows_from_call_to_call_is_a_generation),
		TEST(the_last_token_belongs_to_the_loop),
		TEST(what_a_loop_hands_on_is_its_cache),
		TEST(copies_that_the_loop_makes_of_its_cache_are_cache),
		TEST(parts_of_a_picture_are_no_generation),
		TEST(a_loop_that_died_in_a_call_has_its_cache),
		TEST(what_grows_under_a_frame_that_generates_is_cache),
		TEST(what_a_norm_makes_of_a_whole_sequence_is_no_cache),
		TEST(pieces_that_are_read_together_are_a_cache),
		TEST(requests_of_any_length_are_calls),
		TEST(a_module_around_the_loop_is_no_pass),
		TEST(outputs_that_stay_are_no_cache),
		TEST(what_follows_a_loop_without_showing_itself_is_other),
		TEST(a_head_that_a_loop_calls_is_of_it_to_the_last_token),
	};

	return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
