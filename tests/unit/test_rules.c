/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/attribution/rules/rules.h"
#include "analyzer/base/util.h"

static void a_rule_file_becomes_tables(void **state)
{
	static const char text[] =
		"# comment\n"
		"[stage forward]\n"
		"method = *:forward *:__call__\n"
		"[kind norm]\n"
		"module = *Norm\n"
		"[rule one]\n"
		"kind = block segment\n"
		"not_scope = x*\n"
		"min_bytes = 2MiB\n"
		"owner = a/{kind}\n"
		"known_by = lifetime\n"
		"reason = because it is so\n"
		"[rule two]\n"
		"node = *\n"
		"owner = b\n"
		"known_by = autograd\n";
	struct vt_rules rules;
	struct vt_diag diag = { 0 };

	(void)state;
	assert_int_equal(vt_rules_parse(&rules, "test", text, strlen(text), &diag), 0);

	assert_int_equal(rules.nr_rules, 2);
	assert_int_equal(rules.nr_conditions, 4);
	assert_int_equal(rules.nr_stages, 1);
	assert_int_equal(rules.stages[0].method.nr, 2);
	assert_int_equal(rules.nr_kinds, 1);
	assert_string_equal(rules.rules[0].name, "one");
	assert_string_equal(rules.rules[0].owner, "a/{kind}");
	assert_string_equal(rules.rules[0].reason, "because it is so");
	assert_int_equal(rules.rules[0].provenance, VT_PROVENANCE_LIFETIME);
	assert_int_equal(rules.rules[0].nr_conditions, 3);
	assert_int_equal(rules.rules[0].conditions[0].words, 1u << 1 | 1u << 2);
	assert_true(rules.rules[0].conditions[1].is_negated);
	assert_int_equal(rules.rules[0].conditions[2].bytes, 2 << 20);
	assert_string_equal(rules.rules[1].name, "two");
	assert_int_equal(rules.rules[1].nr_conditions, 1);
	vt_rules_release(&rules);
}

/* Before the built-in rules, so that the user's decide; behind them, so that they fill gaps. */
static void built_in_rules_stand_where_the_file_says(void **state)
{
	static const char text[] = "[rule before]\nnode = *\nowner = a\nknown_by = frames\n"
				   "[include]\nrules = default\n"
				   "[rule behind]\nnode = *\nowner = b\nleaf = {name}\n"
				   "known_by = names\n";
	struct vt_rules rules, built_in;
	struct vt_diag diag = { 0 };

	(void)state;
	assert_int_equal(vt_rules_parse(&rules, "test", text, strlen(text), &diag), 0);
	assert_int_equal(vt_rules_load(&built_in, NULL, &diag), 0);
	assert_int_equal(rules.nr_rules, built_in.nr_rules + 2);
	assert_string_equal(rules.rules[0].name, "before");
	assert_string_equal(rules.rules[1].name, built_in.rules[0].name);
	assert_string_equal(rules.rules[rules.nr_rules - 1].name, "behind");
	assert_string_equal(rules.rules[rules.nr_rules - 1].leaf, "{name}");
	assert_int_equal(rules.nr_kinds, built_in.nr_kinds);
	assert_int_equal(rules.nr_stages, built_in.nr_stages);
	assert_int_equal(rules.loss.node.nr, built_in.loss.node.nr);
	vt_rules_release(&rules);
	vt_rules_release(&built_in);
}

#define RULE_A "[rule a]\nnode = *\nowner = {kind}\nknown_by = frames\n"

static void faults_are_named_with_their_line(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} cases[] = {
		{ "[rule a]\nowner = x\nknown_by = frames\n",
		  "test:2: rule \"a\" has no condition" },
		{ "[rule a]\nnode = *\n", "test:2: rule \"a\" has no owner" },
		{ "[rule a]\nnode = *\n[rule b]\nowner = x\n",
		  "test:2: rule \"a\" has no owner" },
		{ "[rule a]\ncolour = red\n", "test:2: unknown key: colour = red" },
		{ "[rule a]\nstage = lunch\n", "test:2: unknown word: stage = lunch" },
		{ "[rule a]\nknown_by = luck\n", "test:2: unknown provenance: known_by = luck" },
		{ "[rule a]\nmin_bytes = big\n", "test:2: not a size: min_bytes = big" },
		{ "[stage lunch]\nframe = x\n", "test:2: unknown stage: frame = x" },
		{ "[kind norm]\nnode = x\nframe = x\n", "test:3: unknown key: frame = x" },
		{ "[recipe a]\nx = y\n", "test:2: unknown section: x = y" },
		{ "[include]\nrules = mine\n", "test:2: unknown rules: rules = mine" },
		{ "[include]\nfile = default\n", "test:2: unknown key: file = default" },
		{ "[include]\nrules = default\n[rule a]\nnode = *\n",
		  "test:4: rule \"a\" has no owner" },
		{ "[rule a]\nnode = *\nowner = x\n", "test:2: rule \"a\" has no known_by" },
		{ "[rule]\nnode = *\nowner = x\nknown_by = frames\n",
		  "test:2: rule \"\" has no name" },
		{ RULE_A "[rule b]\nnode = *\nowner = {kynd}\nknown_by = frames\n",
		  "test:6: rule \"b\" has an unknown placeholder" },
		{ RULE_A "[rule b]\nnode = *\nowner = x\nleaf = {name\nknown_by = frames\n",
		  "test:6: rule \"b\" has an unknown placeholder" },
		{ RULE_A RULE_A, "test:6: rule \"a\" has the name of another rule" },
		{ "[rule a]\n\033]0;x\a = y\n", "test:2: unknown key: ?]0;x? = y" },
		{ "\n\nnonsense\n", "test:3: neither a section nor key = value" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_rules rules;
		struct vt_diag diag = { 0 };

		assert_int_equal(
			vt_rules_parse(&rules, "test", cases[i].text, strlen(cases[i].text), &diag),
			-1);
		assert_string_equal(diag.text, cases[i].message);
		assert_int_equal(diag.exit_code, VT_EXIT_UNREADABLE);
		vt_rules_release(&rules);
	}
}

/* Every rule says why; no owner is one that the books fill in themselves. */
static void the_built_in_rules_are_whole(void **state)
{
	struct vt_rules rules;
	struct vt_diag diag = { 0 };

	(void)state;
	if (vt_rules_load(&rules, NULL, &diag))
		fail_msg("%s", diag.text);

	assert_true(rules.nr_rules > 30);
	assert_true(rules.nr_stages >= VT_NR_STAGES - 1);
	for (unsigned i = 0; i < rules.nr_rules; i++) {
		const struct vt_rule *rule = &rules.rules[i];

		if (!rule->reason || rule->provenance == VT_PROVENANCE_UNKNOWN ||
		    !strcmp(rule->owner, "cached") || !strcmp(rule->owner, "context"))
			fail_msg("rule \"%s\"", rule->name);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(rule->name, rules.rules[k].name);
	}
	vt_rules_release(&rules);
}

static void a_missing_file_is_said(void **state)
{
	struct vt_rules rules;
	struct vt_diag diag = { 0 };

	(void)state;
	assert_int_equal(vt_rules_load(&rules, "no-such.ini", &diag), -1);
	assert_string_equal(diag.text, "no-such.ini: No such file or directory");
	vt_rules_release(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_file_becomes_tables),
		cmocka_unit_test(built_in_rules_stand_where_the_file_says),
		cmocka_unit_test(faults_are_named_with_their_line),
		cmocka_unit_test(the_built_in_rules_are_whole),
		cmocka_unit_test(a_missing_file_is_said),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
