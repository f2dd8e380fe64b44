/* SPDX-License-Identifier: MIT */
/*
 * Plans played to the allocator's model: what comes goes, and what is there at most is the plan's.
 */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/planner/load.h"
#include "analyzer/planner/plan_player.h"
#include "analyzer/planner/plan_replay.h"
#include "analyzer/replay/allocator.h"
#include "tests/lib/planned.h"

static struct vt_plan_replay play(const struct planned *planned)
{
	struct vt_plan_replay replay = { 0 };

	vt_plan_replay_run(&replay, &planned->plan);
	assert_true(replay.is_played);
	assert_true(replay.allocated_bytes <= replay.reserved_bytes);
	return replay;
}

/* --- caches that grow ------------------------------------------------------------------------- */

#define LATENT                                                                                     \
	"{\"model_type\":\"deepseek_v3\",\"hidden_size\":512,\"num_hidden_layers\":4,"             \
	"\"num_attention_heads\":8,\"num_key_value_heads\":8,\"vocab_size\":32000,"                \
	"\"intermediate_size\":1024,\"kv_lora_rank\":64,\"qk_nope_head_dim\":64,"                  \
	"\"first_k_dense_replace\":4,"

/* A part of a cache that has no bytes takes no block, so none of the token before goes for it. */
static void parts_without_bytes_take_no_blocks(void **state)
{
	static const struct {
		const char *config, *settings;
	} cases[] = {
		{ LATENT "\"qk_rope_head_dim\":0,\"v_head_dim\":64}", "new-tokens=64" },
		{ LATENT "\"qk_rope_head_dim\":32,\"v_head_dim\":0}",
		  "kv-cache=expanded new-tokens=4" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct planned *planned = planned_read(cases[i].config, cases[i].settings);
		struct vt_plan_replay replay = play(planned);
		double peak = vt_plan_peak(&planned->plan);

		/* Nothing is in it twice, and nothing stays that was given back. */
		assert_true((double)replay.allocated_bytes < 1.25 * peak);
		vt_plan_replay_release(&replay);
		planned_release(planned);
	}
}

/* --- what autocast keeps ---------------------------------------------------------------------- */

/*
 * Under torch.no_grad(), too; measured: the same run of transformers 5.23 on PyTorch 2.11 on the
 * simulator, where torch.inference_mode() and parameters without a gradient leave no casts.
 */
static void casts_stay_until_autocast_ends(void **state)
{
	static const struct {
		const char *settings;
		double measured; /* MiB allocated at most; 0: the plan's */
	} cases[] = {
		{ "mode=infer dtype=fp32 autocast=bf16 seq=1024", 7430.8 },
		{ "mode=infer dtype=fp32 autocast=bf16 seq=1024 new-tokens=8", 7176.5 },
		/* Mostly keys and values: those of the token before go. */
		{ "mode=infer dtype=fp32 autocast=bf16 batch=64 seq=16 new-tokens=8000", 0 },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct planned *planned = planned_make("llama-3.2-1b", cases[i].settings);
		struct vt_plan_replay replay = play(planned);
		enum vt_plan_stage peak = planned->plan.peak;
		double bytes = planned_bytes(planned, NULL, peak) -
			       planned_bytes(planned, "context", peak);
		double measured = cases[i].measured ? cases[i].measured * 1048576 : bytes;
		double share = bytes / measured;

		assert_true(planned_bytes(planned, "weights/cast", peak) ==
			    2.0 * (973078528 + 128256 * 2048));
		assert_true(share > 0.98 && share < 1.02);
		share = (double)replay.allocated_bytes / measured;
		assert_true(share > 0.99 && share < 1.02);
		vt_plan_replay_release(&replay);
		planned_release(planned);
	}
}

/* --- limits ----------------------------------------------------------------------------------- */

#define MIXTURE                                                                                    \
	"{\"model_type\":\"mixtral\",\"hidden_size\":64,\"num_hidden_layers\":2,"                  \
	"\"num_attention_heads\":4,\"num_key_value_heads\":4,\"vocab_size\":100,"                  \
	"\"intermediate_size\":64,"

/* Files have few tensors whatever is said beside them; experts are blocks, each, in training. */
static void more_experts_than_memory_holds_are_not_played(void **state)
{
	static const struct {
		const char *experts;
		int is_played;
	} cases[] = {
		{ "8", 1 },
		{ "400", 1 },
		{ "1000000", 0 },
		{ "100000000", 0 },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		char *config = vt_xasprintf(MIXTURE "\"num_local_experts\":%s,"
						    "\"num_experts_per_tok\":%s}",
					    cases[i].experts, cases[i].experts);
		struct planned *planned = planned_read(config, "mode=train");
		struct vt_plan_replay replay = { 0 };

		/* As a file does that has not all that its configuration says. */
		planned->model.nr_tensors = 3;
		vt_plan_replay_run(&replay, &planned->plan);
		assert_int_equal(replay.is_played, cases[i].is_played);
		vt_plan_replay_release(&replay);
		planned_release(planned);
		free(config);
	}
}

/* --- which layer has what --------------------------------------------------------------------- */

static uint64_t count_of(const struct vt_load_tensors *tensors, const char *name, uint64_t layer)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < tensors->len; i++) {
		const struct vt_load_tensor *t = &tensors->items[i];

		nr += t->tensor && t->layer == layer && !strcmp(t->tensor->name, name);
	}
	return nr;
}

/* As many dense layers as mixtures: what has which cannot be told by how many there are. */
static void mixtures_alone_have_experts(void **state)
{
	static const struct {
		const char *name;
		uint64_t nr[4];
	} cases[] = {
		{ "self_attn.o_proj", { 1, 1, 1, 1 } }, { "mlp.up_proj", { 1, 1, 0, 0 } },
		{ "mlp.router", { 0, 0, 1, 1 } },	{ "mlp.shared.up_proj", { 0, 0, 1, 1 } },
		{ "mlp.experts.gate_proj", { 0, 0, 1, 1 } },
		{ "mlp.experts.up_proj", { 0, 0, 0, 0 } },
		{ "mlp.experts.down_proj", { 0, 0, 1, 1 } },
	};
	struct planned *planned =
		planned_read("{\"model_type\":\"deepseek_v3\",\"hidden_size\":512,"
			     "\"num_hidden_layers\":4,\"num_attention_heads\":8,"
			     "\"vocab_size\":32000,\"intermediate_size\":1024,"
			     "\"kv_lora_rank\":64,\"qk_rope_head_dim\":32,"
			     "\"qk_nope_head_dim\":64,\"v_head_dim\":64,"
			     "\"n_routed_experts\":16,\"num_experts_per_tok\":2,"
			     "\"moe_intermediate_size\":256,\"n_shared_experts\":1,"
			     "\"first_k_dense_replace\":2}", "");
	struct vt_load load = { .model = &planned->model, .element_bytes = 2 };
	struct vt_load_tensors tensors = { 0 };
	struct vt_settings settings;
	struct vt_pools pools;
	struct vt_card card;

	(void)state;
	vt_settings_init(&settings, NULL);
	vt_card_init(&card, UINT64_MAX);
	vt_pools_init(&pools, &settings, &card, 0);
	vt_load_play(&load, &pools, &tensors);
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++)
		for (uint64_t layer = 0; layer < 4; layer++)
			if (count_of(&tensors, cases[i].name, layer) != cases[i].nr[layer])
				fail_msg("%s in layer %d: %d", cases[i].name, (int)layer,
					 (int)count_of(&tensors, cases[i].name, layer));
	/* All experts at once, with both halves of a gate. */
	for (size_t i = 0; i < tensors.len; i++)
		if (tensors.items[i].tensor &&
		    !strcmp(tensors.items[i].tensor->name, "mlp.experts.gate_proj"))
			assert_int_equal(tensors.items[i].elements, 16 * 2 * 256 * 512);
	vt_vector_release(&tensors);
	vt_pools_release(&pools);
	vt_card_release(&card);
	planned_release(planned);
}

/* Every sixth layer has no window, every fourth attends; no layer is of both kinds. */
static void kinds_of_layers_take_turns(void **state)
{
	static const struct {
		struct vt_formula_part one, other;
		uint64_t first; /* layer of the one */
	} cases[] = {
		{ { .layers = 2, .layer_name = "Lfull" },
		  { .layers = 10, .layer_name = "Lwindow" }, 5 },
		{ { .layers = 3, .layer_name = "La" }, { .layers = 9, .layer_name = "Lmix" }, 3 },
		{ { .layers = 8, .layer_name = "Lmoe" },
		  { .layers = 4, .layer_name = "Ldense" }, 4 },
	};
	const struct vt_player player = { .nr_layers = 14, .nr_encoder = 2 };

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		uint64_t nr = 0, first = UINT64_MAX;

		for (uint64_t layer = 12; layer-- > 0;) {
			int is_one = vt_player_is_in(&player, &cases[i].one, 2 + layer);

			assert_true(is_one != vt_player_is_in(&player, &cases[i].other, 2 + layer));
			nr += (uint64_t)is_one;
			first = is_one ? layer : first;
		}
		assert_true((double)nr == cases[i].one.layers);
		assert_int_equal(first, cases[i].first);
	}
}

/* --- what a term is --------------------------------------------------------------------------- */

/* A new term is not left out of what is played by having been forgotten: no plan comes of it. */
static void a_term_says_how_it_is_played(void **state)
{
	static const struct {
		enum vt_played_kind played;
		const char *formula, *error;
	} cases[] = {
		{ VT_PLAYED_STAGED, "2", NULL },
		{ VT_PLAYED_PASSED_OVER, "2", NULL },
		{ VT_PLAYED_UNSAID, "2", "a term without played" },
		{ VT_PLAYED_UNSAID, "0", "a term without played" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		const struct vt_term_spec spec = { "x", VT_IN_ALL, cases[i].played, NULL, NULL,
						   "", NULL };
		struct vt_plan plan = { .stages = VT_IN_ALL };

		vt_plan_add(&plan, &spec, cases[i].formula);
		assert_true(!plan.error == !cases[i].error);
		if (plan.error)
			assert_string_equal(plan.error, cases[i].error);
		vt_plan_release(&plan);
	}
}

/* Behind forward there is nothing that they would be there for. */
static void what_is_there_to_the_end_of_forward_passes(void **state)
{
	static const struct {
		enum vt_played_kind played, kind;
		unsigned stages;
	} cases[] = {
		{ VT_PLAYED_STAGED, VT_PLAYED_PASSING, VT_IN(FORWARD) },
		{ VT_PLAYED_STAGED, VT_PLAYED_PASSING, VT_IN(FIRST_LAYER) | VT_IN(FORWARD) },
		{ VT_PLAYED_STAGED, VT_PLAYED_STAGED, VT_IN(FIRST_LAYER) },
		{ VT_PLAYED_STAGED, VT_PLAYED_STAGED, VT_IN(FORWARD) | VT_IN(LOGITS) },
		{ VT_PLAYED_KEPT, VT_PLAYED_KEPT, VT_IN(FORWARD) },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		const struct vt_term_spec spec = { "x", cases[i].stages, cases[i].played, NULL,
						   NULL, "", NULL };
		struct vt_plan plan = { .stages = VT_IN_ALL };
		struct vt_player player = { .plan = &plan };

		vt_plan_add(&plan, &spec, "2");
		assert_int_equal(vt_player_read_terms(&player), 0);
		assert_int_equal(player.terms.items[0].kind, cases[i].kind);
		vt_vector_release(&player.terms.items[0].parts);
		vt_vector_release(&player.terms);
		vt_plan_release(&plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_without_bytes_take_no_blocks),
		cmocka_unit_test(casts_stay_until_autocast_ends),
		cmocka_unit_test(more_experts_than_memory_holds_are_not_played),
		cmocka_unit_test(mixtures_alone_have_experts),
		cmocka_unit_test(kinds_of_layers_take_turns),
		cmocka_unit_test(a_term_says_how_it_is_played),
		cmocka_unit_test(what_is_there_to_the_end_of_forward_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
