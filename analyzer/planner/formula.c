/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Formulas may come from a user's file: their nesting ends somewhere. */
#define MAX_DEPTH 32

struct parser {
	const char *at;
	const struct vt_symbols *symbols;
	struct vt_formula_steps *steps; /* NULL: nobody wants them */
	const char *error; /* the first one, NULL while there is none */
	unsigned depth;
};

int vt_formula_define(struct vt_symbols *symbols, const char *name, size_t len, double value)
{
	struct vt_symbol *symbol = (struct vt_symbol *)vt_formula_find(symbols, name, len);

	if (symbol) {
		symbol->value = value;
		return 0;
	}
	if (symbols->len == VT_FORMULA_MAX_SYMBOLS || len >= VT_FORMULA_MAX_NAME)
		return -1;
	symbol = &symbols->items[symbols->len++];
	memcpy(symbol->name, name, len);
	symbol->name[len] = '\0';
	symbol->name_len = len;
	symbol->value = value;
	return 0;
}

const struct vt_symbol *vt_formula_find(const struct vt_symbols *symbols, const char *name,
					size_t len)
{
	for (size_t i = 0; i < symbols->len; i++) {
		const struct vt_symbol *symbol = &symbols->items[i];

		if (symbol->name_len == len && !memcmp(symbol->name, name, len))
			return symbol;
	}
	return NULL;
}

static double fail(struct parser *p, const char *error)
{
	if (!p->error)
		p->error = error;
	return 0;
}

static void record(struct parser *p, struct vt_formula_step step)
{
	vt_vector_push(p->steps, step);
}

/* Its value. */
static double operation(struct parser *p, enum vt_formula_operation operation, double value)
{
	if (p->steps)
		record(p, (struct vt_formula_step){ .operation = operation, .value = value });
	return value;
}

static int is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static size_t name_length(const char *text)
{
	size_t len = 0;

	while (isalnum((unsigned char)text[len]) || text[len] == '_')
		len++;
	return len;
}

static void skip_blanks(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\t')
		p->at++;
}

static int is_next(struct parser *p, char c)
{
	skip_blanks(p);
	if (*p->at != c)
		return 0;
	p->at++;
	return 1;
}

static double expression(struct parser *p);

/* Of two equal ones, min() is the second and max() the first. */
static double choose(struct parser *p, double x, double y, int is_second)
{
	return operation(p, is_second ? VT_FORMULA_SECOND : VT_FORMULA_FIRST, is_second ? y : x);
}

/* min, max, ceil, floor; `p->at` stands behind the opening parenthesis. */
static double call(struct parser *p, const char *name, size_t len)
{
	double x = expression(p), y = 0;
	int has_two = is_next(p, ',');

	if (has_two)
		y = expression(p);
	if (!is_next(p, ')'))
		return fail(p, "unclosed parenthesis");
	if (len == 3 && !memcmp(name, "min", 3) && has_two)
		return choose(p, x, y, !(x < y));
	if (len == 3 && !memcmp(name, "max", 3) && has_two)
		return choose(p, x, y, !(x >= y));
	if (len == 4 && !memcmp(name, "ceil", 4) && !has_two)
		return operation(p, VT_FORMULA_ROUND, ceil(x));
	if (len == 5 && !memcmp(name, "floor", 5) && !has_two)
		return operation(p, VT_FORMULA_ROUND, floor(x));
	return fail(p, "a function is min(x,y), max(x,y), ceil(x) or floor(x)");
}

static double name(struct parser *p)
{
	const char *start = p->at;
	size_t len = name_length(start);
	const struct vt_symbol *symbol;

	p->at += len;
	if (is_next(p, '('))
		return call(p, start, len);
	symbol = vt_formula_find(p->symbols, start, len);
	if (!symbol)
		return fail(p, "unknown name");
	if (p->steps)
		record(p, (struct vt_formula_step){ VT_FORMULA_NAME, symbol->value, start, len });
	return symbol->value;
}

static double number(struct parser *p)
{
	char *end;
	double value;

	/* strtod would also take hexadecimal, and a name behind a number for an exponent. */
	if (p->at[0] == '0' && (p->at[1] == 'x' || p->at[1] == 'X'))
		return fail(p, "a number is decimal");
	value = strtod(p->at, &end);
	p->at = end;
	return operation(p, VT_FORMULA_NUMBER, value);
}

static double factor(struct parser *p)
{
	double value;

	if (p->depth >= MAX_DEPTH)
		return fail(p, "nested too deeply");
	p->depth++;
	skip_blanks(p);
	if (isdigit((unsigned char)*p->at)) {
		value = number(p);
	} else if (is_name_start(*p->at)) {
		value = name(p);
	} else if (is_next(p, '(')) {
		value = expression(p);
		if (!is_next(p, ')'))
			fail(p, "unclosed parenthesis");
	} else if (is_next(p, '-')) {
		value = operation(p, VT_FORMULA_NEGATE, -factor(p));
	} else {
		value = fail(p, "no formula");
	}
	p->depth--;
	return value;
}

static double product(struct parser *p)
{
	double value = factor(p), divisor;

	while (!p->error) {
		if (is_next(p, '*')) {
			value = operation(p, VT_FORMULA_MULTIPLY, value * factor(p));
		} else if (is_next(p, '/')) {
			divisor = factor(p);
			if (divisor == 0)
				return fail(p, "a division by zero");
			value = operation(p, VT_FORMULA_DIVIDE, value / divisor);
		} else {
			break;
		}
	}
	return value;
}

static double expression(struct parser *p)
{
	double value = product(p);

	while (!p->error) {
		if (is_next(p, '+'))
			value = operation(p, VT_FORMULA_ADD, value + product(p));
		else if (is_next(p, '-'))
			value = operation(p, VT_FORMULA_SUBTRACT, value - product(p));
		else
			break;
	}
	return value;
}

int vt_formula_trace(const char *text, const struct vt_symbols *symbols,
		     struct vt_formula_steps *steps, double *value, const char **error)
{
	struct parser p = { .at = text, .symbols = symbols, .steps = steps };

	*value = expression(&p);
	skip_blanks(&p);
	if (*p.at)
		fail(&p, "unexpected text after the formula");
	if (!(*value >= 0))
		fail(&p, "a negative result");
	if (!(*value < VT_FORMULA_MAX))
		fail(&p, "a result of 2^53 or more");
	*error = p.error;
	if (p.error)
		*value = 0;
	return p.error ? -1 : 0;
}

int vt_formula_evaluate(const char *text, const struct vt_symbols *symbols, double *value,
			const char **error)
{
	return vt_formula_trace(text, symbols, NULL, value, error);
}

/* Where the parenthesis at `open` is closed, 0 if it is not. */
static size_t closing(const char *text, size_t open)
{
	size_t depth = 0;

	for (size_t i = open; text[i]; i++) {
		depth += text[i] == '(';
		depth -= text[i] == ')';
		if (!depth)
			return i;
	}
	return 0;
}

void vt_formula_tidy(char *text)
{
	for (size_t i = 0; text[i]; i++) {
		while (text[i] == '(' && text[i + 1] == '(') {
			size_t inner = closing(text, i + 1);

			if (!inner || text[inner + 1] != ')')
				break;
			memmove(text + inner, text + inner + 1, strlen(text + inner));
			memmove(text + i, text + i + 1, strlen(text + i));
		}
	}
}

/* As short as it reads back exactly. */
static void print_number(double value, struct vt_buffer *out)
{
	char text[32];

	snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	vt_buffer_puts(out, text);
}

void vt_formula_substitute(const char *text, const struct vt_symbols *symbols,
			   struct vt_buffer *out)
{
	while (*text) {
		size_t len = is_name_start(*text) ? name_length(text) : 0;
		const struct vt_symbol *symbol = len ? vt_formula_find(symbols, text, len) : NULL;

		if (symbol)
			print_number(symbol->value, out);
		else
			vt_buffer_append(out, text, len ? len : 1);
		text += len ? len : 1;
	}
}
