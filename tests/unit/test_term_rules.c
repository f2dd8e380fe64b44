/* SPDX-License-Identifier: MIT */
/*
 * Terms of plans as data: the grammar, the built-in files, a user's file before and instead of
 * them, and one line for each mistake.
 */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/planner/source.h"
#include "analyzer/planner/term_check.h"
#include "analyzer/planner/term_rules.h"
#include "tests/lib/planned.h"

#define TERM(name, formula)                                                                        \
	"[term " name "]\nowner = x\nstages = all\nplayed = staged\nwhy = y\nformula = " formula   \
	"\n"
#define INCLUDE "[include]\nterms = default\n"

/* A plan of llama-2-7b by the rules of `text`; the settings are words as of planned_make. */
struct own_plan {
	struct planned *planned;
	struct vt_term_rules rules;
	struct vt_plan plan;
	int rc;
	struct vt_diag diag;
};

static struct own_plan *plan_by(const char *text, const char *settings)
{
	struct own_plan *own = vt_xcalloc(1, sizeof(*own));

	own->planned = planned_make("llama-2-7b", settings);
	own->planned->settings.terms = &own->rules;
	own->plan.model = &own->planned->model;
	own->plan.settings = &own->planned->settings;
	own->rc = vt_term_rules_parse(&own->rules, "own.ini", text, strlen(text), &own->diag);
	if (!own->rc)
		own->rc = vt_estimate_make(&own->plan, &own->diag);
	return own;
}

static void release(struct own_plan *own)
{
	vt_plan_release(&own->plan);
	vt_term_rules_release(&own->rules);
	planned_release(own->planned);
	free(own);
}

/* The formulas of an owner's terms, one behind another. */
static void assert_formulas(const char *text, const char *settings, const char *owner,
			    const char *expected)
{
	struct own_plan *own = plan_by(text, settings);
	struct vt_buffer found;

	vt_buffer_init(&found);
	vt_buffer_puts(&found, "");
	if (own->rc)
		fail_msg("%s", own->diag.text);
	for (size_t i = 0; i < own->plan.terms.len; i++)
		if (!strcmp(own->plan.terms.items[i].owner, owner))
			vt_buffer_printf(&found, "%s%s", found.len ? "; " : "",
					 own->plan.terms.items[i].formula);
	assert_string_equal(found.data ? found.data : "", expected);
	vt_buffer_release(&found);
	release(own);
}

static void the_first_section_that_holds_counts(void **state)
{
	static const char text[] =
		"[value kind]\nmode = train\nis = training\n"
		"[value kind]\nis = a forward\n"
		"[value kind]\nis = never\n" TERM("a", "1*L") "mode = train\n"
		TERM("a", "2*L") TERM("a", "3*L")
		"[term b]\nowner = z\nstages = all\nplayed = staged\nwhy = {kind}\n"
		"formula = 4*L\n";
	struct own_plan *own;

	(void)state;
	assert_formulas(text, "mode=train", "x", "1*L");
	assert_formulas(text, "mode=infer", "x", "2*L");
	own = plan_by(text, "mode=infer");
	assert_string_equal(own->plan.terms.items[1].why, "a forward");
	release(own);
}

static void conditions_are_words_names_and_comparisons(void **state)
{
	static const struct {
		const char *lines;
		int is_there;
	} cases[] = {
		{ "batch = 2", 1 },
		{ "batch = 1", 0 },
		{ "not_batch = 1 3", 1 },
		{ "attention = sdpa flash", 1 },
		{ "not_attention = sdpa flash", 0 },
		{ "norm = rms", 1 },
		{ "mlp = plain", 0 },
		{ "activation_steps = 1", 1 },
		{ "given = batch", 1 },
		{ "given = seq lora", 0 },
		{ "not_given = seq", 1 },
		{ "where = L > 31", 1 },
		{ "where = L > 32", 0 },
		{ "where = L >= 32", 1 },
		{ "where = L < 32", 0 },
		{ "where = L <= 32", 1 },
		{ "where = L == 2*16", 1 },
		{ "where = L != 32", 0 },
		{ "not_where = L > 32", 1 },
		{ "where = {batch}+{activation_steps} == 3", 1 },
		{ "full = yes", 1 },
		{ "full = *", 1 },
		{ "full = -", 0 },
		{ "empty = *", 0 },
		{ "empty = -", 1 },
		{ "not_empty = *", 1 },
		{ "batch = 2\nlora = 0", 1 },
		{ "batch = 2\nnot_lora = 0", 0 },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		char *text = vt_xasprintf(TERM("a", "1") "%s\n[value full]\nis = yes\n"
					  "[value empty]\nbatch = 9\nis = yes\n", cases[i].lines);

		assert_formulas(text, "batch=2", "x", cases[i].is_there ? "1" : "");
		free(text);
	}
}

static void names_stand_for_texts_and_numbers(void **state)
{
	(void)state;
	assert_formulas(TERM("a", "{n}*{part}*{mlp_kind}") "[value n]\nnumber = {batch}*2+{one}\n"
			"[value one]\nis = 1\n[value part]\nbatch = 3\nis = L{more}\n"
			"[value more]\nis = +1\n[value mlp_kind]\nmlp = gated\nis = {norm_width}\n"
			"[value norm_width]\nnorm = layer\nis = 0\n[value norm_width]\nis = h\n",
			"batch=3", "x", "7*L+1*h");
}

static unsigned stages_of(const char *words)
{
	char *text = vt_xasprintf(
		"[term a]\nowner = x\nplayed = staged\nwhy = y\nformula = 1\n"
		"stages = %s\n",
		words);
	struct vt_term_rules rules;
	struct vt_diag diag = { 0 };
	unsigned stages = 0;

	if (!vt_term_rules_parse(&rules, "x", text, strlen(text), &diag))
		stages = rules.cases.items[0].stages;
	vt_term_rules_release(&rules);
	free(text);
	return stages;
}

static void stages_are_words(void **state)
{
	(void)state;
	assert_int_equal(stages_of("load step"), VT_IN(LOAD) | VT_IN(STEP));
	assert_int_equal(stages_of("backward-last-norm backward-loss backward-embedding"),
			 VT_IN(BACKWARD_NORM) | VT_IN(BACKWARD_LOSS) | VT_IN(BACKWARD_END));
	assert_int_equal(stages_of("all !load"), VT_IN_ALL & ~VT_IN(LOAD));
	assert_int_equal(stages_of("layers-kept !backward-last-layer first-layer"),
			 (VT_IN_WHOLE & ~VT_IN(BACKWARD_TOP)) | VT_IN(FIRST_LAYER));
	assert_int_equal(stages_of("training inference"), VT_IN_TRAINING | VT_IN_INFERENCE);
	assert_int_equal(stages_of("backward-first"), 0);
	assert_int_equal(stages_of("backwards"), 0);
}

static void what_layers_keep_is_of_one_or_of_all(void **state)
{
	static const char text[] =
		"[term a]\nowner = x\nwhy = y\nlayers = L\nbytes = 3*h\n"
		"[term b]\nowner = z\nwhy = y\ntokens = Te\nbytes = h\n"
		"recomputed = yes\n";

	(void)state;
	assert_formulas(text, "mode=train", "x", "min(L,1)*T*(3*h); L*T*(3*h)");
	assert_formulas(text, "mode=train", "z", "min(1,1)*Te*(h)");
	assert_formulas(text, "mode=train checkpointing=full", "x", "min(L,1)*T*(3*h)");
	assert_formulas(text, "mode=train checkpointing=full checkpointed-layers=4", "x",
			"min(L,1)*T*(3*h); max(L-ck,0)*T*(3*h)");
	assert_formulas(text, "mode=infer", "x", "");
}

/* The stages of the only term of that formula. */
static unsigned stages_of_formula(const char *text, const char *settings, const char *formula)
{
	struct own_plan *own = plan_by(text, settings);
	unsigned stages = 0;

	for (size_t i = 0; i < own->plan.terms.len; i++)
		if (!strcmp(own->plan.terms.items[i].formula, formula))
			stages |= own->plan.terms.items[i].stages;
	release(own);
	return stages;
}

/* Of some layers the last ones go backward first, and are not recomputed. */
static void a_recomputed_layer_is_there_in_both_directions(void **state)
{
	static const char text[] = "[term a]\nowner = x\nwhy = y\nlayers = L\nbytes = 3*h\n";
	static const char one[] = "min(L,1)*T*(3*h)";
	const unsigned ends = VT_IN(FIRST_LAYER) | VT_IN(BACKWARD_BOTTOM);

	(void)state;
	assert_int_equal(stages_of_formula(text, "mode=train", one), ends);
	assert_int_equal(stages_of_formula(text, "mode=train", "L*T*(3*h)"), VT_IN_WHOLE);
	assert_int_equal(stages_of_formula(text, "mode=train checkpointing=full", one),
			 ends | VT_IN(BACKWARD_TOP));
	assert_int_equal(stages_of_formula(text,
					   "mode=train checkpointing=full checkpointed-layers=4",
					   one),
			 ends);
}

/* Before the built-in ones a user's section decides, behind them it fills gaps. */
static void a_users_sections_stand_where_the_file_says(void **state)
{
	static const char section[] =
		"[term weights]\nquantise = none\nowner = weights\n"
		"stages = all\nplayed = parameters\nwhy = y\n"
		"formula = 3*P\n";
	char *before = vt_xasprintf("%s" INCLUDE, section);
	char *behind = vt_xasprintf(INCLUDE "%s", section);

	(void)state;
	assert_formulas(before, "", "weights", "3*P");
	assert_formulas(behind, "", "weights", "P*w");
	assert_formulas(section, "", "weights", "3*P");
	free(before);
	free(behind);
}

/* All terms of all plans there are; with the include alone they are the same. */
static void the_built_in_ones_are_right(void **state)
{
	static const char text[] = INCLUDE;
	struct planned *planned = planned_make("llama-2-7b", "mode=train");
	struct vt_term_rules rules;
	struct vt_diag diag = { 0 };
	unsigned terms = 0, values = 0;

	(void)state;
	if (vt_term_rules_parse(&rules, "x", text, strlen(text), &diag) ||
	    vt_term_check_symbols(&rules, &planned->plan.symbols, &diag))
		fail_msg("%s", diag.text);
	assert_int_equal(rules.groups.len, vt_term_rules_default()->groups.len);
	for (size_t i = 0; i < rules.groups.len; i++) {
		terms += rules.groups.items[i].is_term != 0;
		values += !rules.groups.items[i].is_term;
	}
	assert_in_range(terms, 100, 400);
	assert_in_range(values, 50, 300);
	vt_term_rules_release(&rules);
	planned_release(planned);
}

/* A name that is nobody's has no effect: each value is asked for, by a text or a condition. */
static void every_built_in_value_is_used(void **state)
{
	const struct vt_term_rules *rules = vt_term_rules_default();

	(void)state;
	for (size_t i = 0; i < rules->groups.len; i++)
		if (!rules->groups.items[i].is_term && !rules->groups.items[i].is_used)
			fail_msg("[value %s] is not used", rules->groups.items[i].name);
}

static void mistakes_are_named_with_their_line(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", "own.ini: neither terms nor values" },
		{ "x\n", "own.ini:1: neither a section nor key = value" },
		{ "[colour red]\na = b\n",
		  "own.ini:2: sections are [term NAME], [value NAME] and" },
		{ "[term]\na = b\n", "own.ini:2: sections are" },
		{ "[include]\nterms = all\n", "own.ini:2: neither a section's line nor" },
		{ "[include]\nrules = default\n", "own.ini:2: neither a section's line nor" },
		{ "[value a]\nis = 1\ncolour = red\n",
		  "own.ini:3: no such setting, fact or value: colour" },
		{ "[value a]\nis = 1\nmlp = square\n",
		  "own.ini:3: no value that it can have: square" },
		{ "[value a]\nis = 1\nattention = slow\n",
		  "own.ini:3: no value that it can have: slow" },
		{ "[value a]\nis = 1\nbatch = many\n",
		  "own.ini:3: no value that it can have: many" },
		{ "[value a]\nis = 1\nbatch =\n", "own.ini:3: no words: batch" },
		{ "[value a]\nis = 1\ngiven = colour\n", "own.ini:3: no such setting: colour" },
		{ "[value a]\nis = 1\nwhere = L\n", "own.ini:3: no comparison: L" },
		{ "[value a]\nis = 1\nwhere = {b} > 1\n", "own.ini:3: no such name in { }: {b}" },
		{ "[value a]\nis = {b}\n", "own.ini:2: no such name in { }: {b}" },
		{ "[value a]\nis = {a\n", "own.ini:2: no such name in { }: {a" },
		{ "[value a]\nis = }\n", "own.ini:2: no such name in { }: }" },
		{ "[value a]\nis = 1\nnumber = 2\n",
		  "own.ini:2: [value a] needs is, or number, alone" },
		{ "[value a]\nowner = 1\n", "own.ini:2: [value a] needs is, or number, alone" },
		{ "[value batch]\nis = 1\n",
		  "own.ini:2: the name of a setting or of a fact: batch" },
		{ "[value norm]\nis = 1\n", "own.ini:2: the name of a setting or of a fact: norm" },
		{ "[value a]\nis = {a}\n", "own.ini:2: refers to itself: a" },
		{ "[value a]\nis = 1\nb = yes\n[value b]\nis = {a}\n",
		  "own.ini:2: refers to itself: a" },
		{ "[term a]\nowner = x\nbytes = 1\n", "own.ini:2: [term a] needs owner and why" },
		{ "[term a]\nowner = x\nwhy = y\nformula = 1\n",
		  "own.ini:2: [term a] needs bytes, or stages, played and formula" },
		{ "[term a]\nowner = x\nwhy = y\nbytes = 1\nstages = load\n",
		  "own.ini:2: [term a] with bytes has layers, tokens and recomputed alone" },
		{ TERM("a", "1") "layers = L\n",
		  "own.ini:2: [term a] with formula has at_least and at_most alone" },
		{ TERM("a", "1") "stages = noon\n", "own.ini:7: unknown stage: stages = noon" },
		{ TERM("a", "1") "played = well\n",
		  "own.ini:7: unknown value of played: played = well" },
		{ TERM("a", "1") "owner =\n", "own.ini:7: it is empty: owner" },
		{ TERM("a", "1") "owner = a {v}\n[value v]\nis = b\n",
		  "own.ini:7: neither a text nor one {value} that has no others in it: a {v}" },
		{ TERM("a", "1") "why = {v}\n[value v]\nis = {batch}\n",
		  "own.ini:7: neither a text nor one {value} that has no others in it: {v}" },
		/* what a plan says */
		{ TERM("a", "2*colour"), "own.ini:6: no such name: colour" },
		{ TERM("a", "1") "at_most = 2*colour\n", "own.ini:7: no such name: colour" },
		{ TERM("a", "1") "where = colour > 1\n", "own.ini:7: no such name: colour" },
		{ TERM("a", "2*"), "own.ini:2: 2*: " },
		{ TERM("a", "1/(L-32)"), "own.ini:2: 1/(L-32): " },
		{ TERM("a", "{v}") "[value v]\nis = 2*colour\n", "own.ini:2: 2*colour: " },
		{ TERM("a", "1") "owner = {v}\n[value v]\nbatch = 9\nis = b\n",
		  "own.ini:2: {v}: is empty" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct own_plan *own = plan_by(cases[i].text, "");

		assert_int_equal(own->rc, -1);
		assert_int_equal(own->diag.exit_code, VT_EXIT_UNREADABLE);
		if (strncmp(own->diag.text, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("%s instead of %s", own->diag.text, cases[i].message);
		assert_null(strchr(own->diag.text, '\n'));
		release(own);
	}
}

/* `nr` values, each made of the one before it, `times` of it. */
static char *chain(unsigned nr, unsigned times, int is_backwards)
{
	struct vt_buffer text;

	vt_buffer_init(&text);
	vt_buffer_puts(&text, TERM("a", "{v1}") "[value v0]\nis = 1+1\n");
	for (unsigned i = 1; i < nr; i++) {
		unsigned at = is_backwards ? nr - i : i;

		vt_buffer_printf(&text, "[value v%u]\nis = 1", at);
		for (unsigned j = 0; j < times; j++)
			vt_buffer_printf(&text, "+{v%u}", at - 1);
		vt_buffer_puts(&text, "\n");
	}
	vt_buffer_printf(&text, TERM("b", "{v%u}"), nr - 1);
	return vt_buffer_detach(&text);
}

static void assert_chain(unsigned nr, unsigned times, int is_backwards, const char *message)
{
	char *text = chain(nr, times, is_backwards);
	struct own_plan *own = plan_by(text, "");

	if (message)
		assert_non_null(strstr(own->diag.text, message));
	assert_int_equal(own->rc, message ? -1 : 0);
	release(own);
	free(text);
}

/* Neither the stack nor memory is at the mercy of a file. */
static void values_are_bounded(void **state)
{
	(void)state;
	assert_chain(30, 1, 0, NULL);
	assert_chain(30, 1, 1, NULL);
	assert_chain(100000, 1, 0, "nested too deeply");
	assert_chain(100000, 1, 1, "nested too deeply");
	assert_chain(30, 3, 0, "too long");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_section_that_holds_counts),
		cmocka_unit_test(conditions_are_words_names_and_comparisons),
		cmocka_unit_test(names_stand_for_texts_and_numbers),
		cmocka_unit_test(stages_are_words),
		cmocka_unit_test(what_layers_keep_is_of_one_or_of_all),
		cmocka_unit_test(a_recomputed_layer_is_there_in_both_directions),
		cmocka_unit_test(a_users_sections_stand_where_the_file_says),
		cmocka_unit_test(the_built_in_ones_are_right),
		cmocka_unit_test(every_built_in_value_is_used),
		cmocka_unit_test(mistakes_are_named_with_their_line),
		cmocka_unit_test(values_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
