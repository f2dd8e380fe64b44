/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/planner/formula.h"
#include "analyzer/planner/formula_parts.h"

static void define(struct vt_symbols *symbols, const char *name, double value)
{
	assert_int_equal(vt_formula_define(symbols, name, strlen(name), value), 0);
}

static double total_of_parts(const char *text, const struct vt_symbols *symbols)
{
	struct vt_formula_parts parts = { 0 };
	double sum = 0;

	vt_formula_split(text, symbols, &parts);
	for (size_t i = 0; i < parts.len; i++)
		sum += parts.items[i].bytes * parts.items[i].count *
		       (parts.items[i].layers ? parts.items[i].layers : 1);
	vt_vector_release(&parts);
	return sum;
}

static void formulas_have_the_usual_precedence(void **state)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{ "1+2*3", 7 },
		{ "(1+2)*3", 9 },
		{ "10-2-3", 5 },
		{ "16/4/2", 2 },
		{ "2*-3+7", 1 },
		{ "-L+2*h", 5 },
		{ "_x-h/(L+-1)", 7 },
		{ "h*max(L,3)-min(h,4)/2", 10 },
		{ " L * h ", 12 },
		{ "min(L,h)+max(L,h)", 7 },
		{ "ceil(7/2)*floor(7/2)", 12 },
		{ "4.5*h/8", 2.25 },
	};
	struct vt_symbols symbols = { 0 };
	const char *error;
	double value;

	(void)state;
	define(&symbols, "L", 3);
	define(&symbols, "h", 4);
	define(&symbols, "_x", 9);
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		assert_int_equal(vt_formula_evaluate(cases[i].text, &symbols, &value, &error), 0);
		assert_true(value == cases[i].value);
		assert_true(total_of_parts(cases[i].text, &symbols) == value);
	}
}

static void what_is_no_formula_is_named(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "", "no formula" },
		{ "1+", "no formula" },
		{ "(1", "unclosed parenthesis" },
		{ "min(1", "unclosed parenthesis" },
		{ "min(1)", "a function is min(x,y), max(x,y), ceil(x) or floor(x)" },
		{ "rm(1)", "a function is min(x,y), max(x,y), ceil(x) or floor(x)" },
		{ "h", "unknown name" },
		{ "1/0", "a division by zero" },
		{ "1-2", "a negative result" },
		{ "9007199254740992", "a result of 2^53 or more" },
		{ "1e999", "a result of 2^53 or more" },
		{ "0/1e-999", "a division by zero" },
		{ "1 2", "unexpected text after the formula" },
		{ "0x10", "a number is decimal" },
		{ "((((((((((((((((((((((((((((((((1", "nested too deeply" },
		{ "--------------------------------1", "nested too deeply" },
	};
	struct vt_symbols symbols = { 0 };
	const char *error;
	double value;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		assert_int_equal(vt_formula_evaluate(cases[i].text, &symbols, &value, &error), -1);
		assert_string_equal(error, cases[i].error);
		assert_true(value == 0);
		assert_true(total_of_parts(cases[i].text, &symbols) == 0);
	}
}

static void numbers_take_the_place_of_names(void **state)
{
	struct vt_symbols symbols = { 0 };
	struct vt_buffer out;
	char *text;

	(void)state;
	define(&symbols, "P", 6738415616);
	define(&symbols, "Pt", 4.127);
	define(&symbols, "e", 2);
	vt_buffer_init(&out);
	vt_formula_substitute("max(P*e,2*Pt)/none", &symbols, &out);
	text = vt_buffer_detach(&out);
	assert_string_equal(text, "max(6738415616*2,2*4.127)/none");
	free(text);
}

static void doubled_parentheses_are_dropped(void **state)
{
	static const struct {
		const char *before, *after;
	} cases[] = {
		{ "L*T*((4*i*e))", "L*T*(4*i*e)" },
		{ "(((x)))", "(x)" },
		{ "((a+b)*c)", "((a+b)*c)" },
		{ "((a)+(b))", "((a)+(b))" },
		{ "((a)", "((a)" },
		{ "max((x),y)", "max((x),y)" },
		{ "", "" },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].before);
		vt_formula_tidy(text);
		assert_string_equal(text, cases[i].after);
	}
}

static void a_full_table_takes_no_more(void **state)
{
	struct vt_symbols symbols = { 0 };
	char name[16];

	(void)state;
	for (int i = 0; i < VT_FORMULA_MAX_SYMBOLS; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		define(&symbols, name, i);
	}
	assert_int_equal(vt_formula_define(&symbols, "y", 1, 0), -1);
	define(&symbols, "x7", 8);
	assert_true(vt_formula_find(&symbols, "x7", 2)->value == 8);
	assert_null(vt_formula_find(&symbols, "x", 1));
}

/* Operands before operations, and of two that are chosen from which one it was. */
static void a_trace_says_what_was_computed(void **state)
{
	static const struct {
		enum vt_formula_operation operation;
		double value;
	} wanted[] = {
		{ VT_FORMULA_NUMBER, 2 }, { VT_FORMULA_NAME, 4 },   { VT_FORMULA_MULTIPLY, 8 },
		{ VT_FORMULA_NUMBER, 7 }, { VT_FORMULA_NUMBER, 2 }, { VT_FORMULA_DIVIDE, 3.5 },
		{ VT_FORMULA_ROUND, 4 },  { VT_FORMULA_FIRST, 8 },  { VT_FORMULA_NUMBER, 3 },
		{ VT_FORMULA_NEGATE, -3 }, { VT_FORMULA_ADD, 5 },
	};
	struct vt_formula_steps steps = { 0 };
	struct vt_symbols symbols = { 0 };
	const char *error;
	double value;

	(void)state;
	define(&symbols, "h", 4);
	assert_int_equal(vt_formula_trace("max(2*h, ceil(7/2)) + -3", &symbols, &steps, &value,
					  &error),
			 0);
	assert_true(value == 5);
	assert_int_equal(steps.len, VT_ARRAY_SIZE(wanted));
	for (size_t i = 0; i < steps.len; i++) {
		assert_int_equal(steps.items[i].operation, wanted[i].operation);
		assert_true(steps.items[i].value == wanted[i].value);
	}
	assert_memory_equal(steps.items[1].name, "h", 1);
	assert_int_equal(steps.items[1].name_len, 1);
	vt_vector_release(&steps);
}

struct split_case {
	const char *text;
	struct {
		double bytes, count, layers;
	} parts[4];
};

static void define_sizes(struct vt_symbols *symbols)
{
	define(symbols, "L", 3);
	define(symbols, "norms", 2);
	define(symbols, "e", 2);
	define(symbols, "h", 5);
	define(symbols, "i", 7);
	define(symbols, "T", 10);
	define(symbols, "experts", 4);
	define(symbols, "chosen", 2);
}

/* A number counts tensors, but where nothing else is a type: then the last one is it. */
static void formulas_fall_into_tensors(void **state)
{
	static const struct split_case cases[] = {
		{ "L*T*(2*e*h+4*i)", { { 100, 2, 3 }, { 280, 1, 3 } } },
		{ "(e+4+4)*T", { { 20, 1, 0 }, { 40, 1, 0 }, { 40, 1, 0 } } },
		{ "3*4*h", { { 20, 3, 0 } } },
		{ "(L-1)*T*e*h", { { 100, 1, 2 } } },
		{ "norms*(4*h+e*h)", { { 20, 2, 0 }, { 10, 2, 0 } } },
		{ "T*max(3*e*h, 2*e*i)", { { 100, 3, 0 } } },
		{ "min(L,1)*T*e", { { 20, 1, 0 } } },
		{ "T*e*h/4", { { 25, 1, 0 } } },
		{ "T*(8*h-e*h)", { { 300, 1, 0 } } },
		{ "ceil(T/4)*e", { { 6, 1, 0 } } },
		{ "T*2*chosen*h*e", { { 50, 8, 0 } } },
	};
	struct vt_symbols symbols = { 0 };
	const char *error;

	(void)state;
	define_sizes(&symbols);
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_formula_parts parts = { 0 };
		double value;

		vt_formula_split(cases[i].text, &symbols, &parts);
		assert_true(parts.len <= VT_ARRAY_SIZE(cases[i].parts));
		for (size_t j = 0; j < parts.len; j++) {
			const struct vt_formula_part *part = &parts.items[j];

			assert_true(part->bytes == cases[i].parts[j].bytes);
			assert_true(part->count == cases[i].parts[j].count);
			assert_true(part->layers == cases[i].parts[j].layers);
		}
		assert_int_equal(vt_formula_evaluate(cases[i].text, &symbols, &value, &error), 0);
		assert_true(total_of_parts(cases[i].text, &symbols) == value);
		vt_vector_release(&parts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formulas_have_the_usual_precedence),
		cmocka_unit_test(what_is_no_formula_is_named),
		cmocka_unit_test(numbers_take_the_place_of_names),
		cmocka_unit_test(doubled_parentheses_are_dropped),
		cmocka_unit_test(a_full_table_takes_no_more),
		cmocka_unit_test(a_trace_says_what_was_computed),
		cmocka_unit_test(formulas_fall_into_tensors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
