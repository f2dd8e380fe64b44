/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/formula_parts.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

struct reader {
	const char *at;
	const struct vt_symbols *symbols;
};

/* Names of bytes per element, and of what comes so many times. */
static const char *const types[] = { "e", "r", "w", "g", "o", "c" };
static const char *const counts[] = { "norms", "Lv" };
/* Every expert has a tensor of its share of what is chosen. */
static const char *const shares[] = { "chosen" };

static int is_among(const char *name, size_t len, const char *const *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (strlen(words[i]) == len && !memcmp(words[i], name, len))
			return 1;
	return 0;
}

static double total(const struct vt_formula_parts *parts)
{
	double sum = 0;

	for (size_t i = 0; i < parts->len; i++) {
		const struct vt_formula_part *p = &parts->items[i];

		sum += p->bytes * p->count * (p->layers ? p->layers : 1) *
		       (p->number ? p->number : 1);
	}
	return sum;
}

static void one(struct vt_formula_parts *parts, double bytes)
{
	struct vt_formula_part part = { .bytes = bytes, .count = 1 };

	parts->len = 0;
	vt_vector_push(parts, part);
}

static struct vt_formula_part multiply(const struct vt_formula_part *a,
				       const struct vt_formula_part *b)
{
	struct vt_formula_part p = *a;

	p.bytes *= b->bytes;
	p.count *= b->count;
	p.is_typed |= b->is_typed;
	if (b->layers) {
		p.layers = (a->layers ? a->layers : 1) * b->layers;
		memcpy(p.layer_name, b->layer_name, sizeof(p.layer_name));
	}
	if (b->number) {
		p.count *= a->number ? a->number : 1;
		p.number = b->number;
	}
	return p;
}

/* Every part of one with every part of the other. */
static void cross(struct vt_formula_parts *left, struct vt_formula_parts *right)
{
	struct vt_formula_parts made = { 0 };

	for (size_t i = 0; i < left->len; i++)
		for (size_t j = 0; j < right->len; j++)
			vt_vector_push(&made, multiply(&left->items[i], &right->items[j]));
	vt_vector_release(left);
	*left = made;
}

static int is_next(struct reader *r, char c)
{
	while (*r->at == ' ')
		r->at++;
	if (*r->at != c)
		return 0;
	r->at++;
	return 1;
}

static void sum(struct reader *r, struct vt_formula_parts *parts);

/* `r->at` stands behind the opening parenthesis. */
static void call(struct reader *r, const char *name, struct vt_formula_parts *parts)
{
	struct vt_formula_parts other = { 0 };

	sum(r, parts);
	if (is_next(r, ','))
		sum(r, &other);
	is_next(r, ')');
	if (name[0] == 'c' || name[0] == 'f') {
		one(parts, name[0] == 'c' ? ceil(total(parts)) : floor(total(parts)));
	} else if ((total(&other) > total(parts)) == (name[1] == 'a')) {
		struct vt_formula_parts chosen = other;

		other = *parts;
		*parts = chosen;
	}
	vt_vector_release(&other);
}

static double value_of(const struct reader *r, const char *name)
{
	const struct vt_symbol *symbol = vt_formula_find(r->symbols, name, strlen(name));

	return symbol ? symbol->value : 0;
}

static void name(struct reader *r, struct vt_formula_parts *parts)
{
	const char *start = r->at;
	struct vt_formula_part part = { .bytes = 1, .count = 1 };
	double experts = value_of(r, "experts");
	const struct vt_symbol *symbol;
	size_t len = 0;

	while (isalnum((unsigned char)start[len]) || start[len] == '_')
		len++;
	r->at += len;
	if (is_next(r, '(')) {
		call(r, start, parts);
		return;
	}
	symbol = vt_formula_find(r->symbols, start, len);
	if (is_among(start, len, counts, VT_ARRAY_SIZE(counts))) {
		part.count = symbol ? symbol->value : 0;
	} else if (experts && symbol && is_among(start, len, shares, VT_ARRAY_SIZE(shares))) {
		part.count = experts;
		part.bytes = symbol->value / experts;
	} else if (start[0] == 'L' && len < sizeof(part.layer_name) && symbol && symbol->value) {
		part.layers = symbol->value;
		memcpy(part.layer_name, start, len);
	} else {
		part.bytes = symbol ? symbol->value : 0;
		part.is_typed = is_among(start, len, types, VT_ARRAY_SIZE(types));
	}
	vt_vector_push(parts, part);
}

static void factor(struct reader *r, struct vt_formula_parts *parts)
{
	char *end;

	if (is_next(r, '(')) {
		sum(r, parts);
		is_next(r, ')');
	} else if (isalpha((unsigned char)*r->at)) {
		name(r, parts);
	} else {
		struct vt_formula_part part = { .bytes = 1, .count = 1 };

		part.number = strtod(r->at, &end);
		if (!part.number)
			part.bytes = 0;
		r->at = end > r->at ? end : r->at + strlen(r->at);
		vt_vector_push(parts, part);
	}
}

static void product(struct reader *r, struct vt_formula_parts *parts)
{
	factor(r, parts);
	while (1) {
		struct vt_formula_parts right = { 0 };
		double divisor;

		if (is_next(r, '*')) {
			factor(r, &right);
			cross(parts, &right);
		} else if (is_next(r, '/')) {
			factor(r, &right);
			divisor = total(&right);
			for (size_t i = 0; divisor && i < parts->len; i++)
				parts->items[i].bytes /= divisor;
		} else {
			return;
		}
		vt_vector_release(&right);
	}
}

/* "(L-1)" are still layers; any other difference is a number like others. */
static void subtract(struct vt_formula_parts *parts, double less)
{
	int are_layers = parts->len == 1 && parts->items[0].layers && parts->items[0].bytes == 1;
	double rest = total(parts) - less;

	if (are_layers && rest > 0)
		parts->items[0].layers = rest;
	else
		one(parts, rest);
}

static void sum(struct reader *r, struct vt_formula_parts *parts)
{
	product(r, parts);
	while (1) {
		struct vt_formula_parts right = { 0 };

		if (is_next(r, '+')) {
			product(r, &right);
			for (size_t i = 0; i < right.len; i++)
				vt_vector_push(parts, right.items[i]);
		} else if (is_next(r, '-')) {
			product(r, &right);
			subtract(parts, total(&right));
		} else {
			return;
		}
		vt_vector_release(&right);
	}
}

void vt_formula_split(const char *text, const struct vt_symbols *symbols,
		      struct vt_formula_parts *parts)
{
	struct reader r = { text, symbols };

	sum(&r, parts);
	for (size_t i = 0; i < parts->len; i++) {
		struct vt_formula_part *p = &parts->items[i];

		*(p->is_typed ? &p->count : &p->bytes) *= p->number ? p->number : 1;
		p->number = 0;
	}
}
