/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/formula_parts.h"

#include <string.h>

/* What has been computed so far and waits for its operation. */
struct operand {
	struct vt_formula_parts parts;
	double value;
};

struct splitter {
	const struct vt_symbols *symbols;
	VT_VECTOR(struct operand) operands;
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
static void cross(struct vt_formula_parts *left, const struct vt_formula_parts *right)
{
	struct vt_formula_parts made = { 0 };

	for (size_t i = 0; i < left->len; i++)
		for (size_t j = 0; j < right->len; j++)
			vt_vector_push(&made, multiply(&left->items[i], &right->items[j]));
	vt_vector_release(left);
	*left = made;
}

static struct vt_formula_part number(double value)
{
	struct vt_formula_part part = { .bytes = value ? 1 : 0, .count = 1, .number = value };

	return part;
}

static struct vt_formula_part name(const struct splitter *s, const struct vt_formula_step *step)
{
	struct vt_formula_part part = { .bytes = 1, .count = 1 };
	const struct vt_symbol *experts = vt_formula_find(s->symbols, "experts", 7);
	size_t len = step->name_len;

	if (is_among(step->name, len, counts, VT_ARRAY_SIZE(counts))) {
		part.count = step->value;
	} else if (experts && experts->value &&
		   is_among(step->name, len, shares, VT_ARRAY_SIZE(shares))) {
		part.count = experts->value;
		part.bytes = step->value / experts->value;
	} else if (step->name[0] == 'L' && len < sizeof(part.layer_name) && step->value) {
		part.layers = step->value;
		memcpy(part.layer_name, step->name, len);
	} else {
		part.bytes = step->value;
		part.is_typed = is_among(step->name, len, types, VT_ARRAY_SIZE(types));
	}
	return part;
}

/* "(L-1)" are still layers; any other difference is a number like others. */
static void subtract(struct vt_formula_parts *parts, double rest)
{
	int are_layers = parts->len == 1 && parts->items[0].layers && parts->items[0].bytes == 1;

	if (are_layers && rest > 0)
		parts->items[0].layers = rest;
	else
		one(parts, rest);
}

/* What becomes of two operands: the first one of them. */
static void combine(const struct vt_formula_step *step, struct operand *left,
		    struct operand *right)
{
	struct vt_formula_parts swapped = left->parts;

	switch (step->operation) {
	case VT_FORMULA_ADD:
		for (size_t i = 0; i < right->parts.len; i++)
			vt_vector_push(&left->parts, right->parts.items[i]);
		break;
	case VT_FORMULA_SUBTRACT:
		subtract(&left->parts, step->value);
		break;
	case VT_FORMULA_MULTIPLY:
		cross(&left->parts, &right->parts);
		break;
	case VT_FORMULA_DIVIDE:
		for (size_t i = 0; i < left->parts.len; i++)
			left->parts.items[i].bytes /= right->value;
		break;
	case VT_FORMULA_SECOND:
		left->parts = right->parts;
		right->parts = swapped;
		break;
	default: /* VT_FORMULA_FIRST: as it is */
		break;
	}
	left->value = step->value;
}

static void take(struct splitter *s, const struct vt_formula_step *step)
{
	struct operand made = { .value = step->value }, *last;

	switch (step->operation) {
	case VT_FORMULA_NUMBER:
		vt_vector_push(&made.parts, number(step->value));
		vt_vector_push(&s->operands, made);
		return;
	case VT_FORMULA_NAME:
		vt_vector_push(&made.parts, name(s, step));
		vt_vector_push(&s->operands, made);
		return;
	case VT_FORMULA_NEGATE:
	case VT_FORMULA_ROUND:
		last = &s->operands.items[s->operands.len - 1];
		one(&last->parts, step->value);
		last->value = step->value;
		return;
	default:
		last = &s->operands.items[--s->operands.len];
		combine(step, last - 1, last);
		vt_vector_release(&last->parts);
	}
}

/* No number is waiting for what it counts any longer. */
static void settle(struct vt_formula_parts *parts)
{
	for (size_t i = 0; i < parts->len; i++) {
		struct vt_formula_part *p = &parts->items[i];

		*(p->is_typed ? &p->count : &p->bytes) *= p->number ? p->number : 1;
		p->number = 0;
	}
}

void vt_formula_split(const char *text, const struct vt_symbols *symbols,
		      struct vt_formula_parts *parts)
{
	struct splitter s = { .symbols = symbols };
	struct vt_formula_steps steps = { 0 };
	const char *error;
	double value;

	if (!vt_formula_trace(text, symbols, &steps, &value, &error)) {
		for (size_t i = 0; i < steps.len; i++)
			take(&s, &steps.items[i]);
		*parts = s.operands.items[0].parts;
		settle(parts);
	}
	vt_vector_release(&s.operands);
	vt_vector_release(&steps);
}
