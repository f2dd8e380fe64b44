/* SPDX-License-Identifier: MIT */
/* The order of free pieces, against a search of all of them. */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/replay/free_set.h"

#define NR_PIECES 1000

static struct {
	struct vt_free_set set;
	struct vt_piece pieces[NR_PIECES];
	uint8_t is_in[NR_PIECES];
	uint32_t random;
} g;

static uint32_t random_below(uint32_t limit)
{
	g.random = g.random * 1664525u + 1013904223u;
	return (g.random >> 8) % limit;
}

static void start(int is_by_address)
{
	memset(&g, 0, sizeof(g));
	vt_free_set_init(&g.set, is_by_address);
	for (uint32_t i = 0; i < NR_PIECES; i++) {
		g.pieces[i].address = (uint64_t)random_below(1000000) * NR_PIECES + i;
		g.pieces[i].size_bytes = 512 * (uint64_t)(1 + random_below(40));
		g.pieces[i].stream = random_below(3);
	}
}

static int is_below(const struct vt_piece *piece, const struct vt_piece *other)
{
	if (piece->stream != other->stream)
		return piece->stream < other->stream;
	if (!g.set.is_by_address && piece->size_bytes != other->size_bytes)
		return piece->size_bytes < other->size_bytes;
	return piece->address < other->address;
}

static void assert_searched(const struct vt_piece *key)
{
	struct vt_piece *from = NULL, *before = NULL;

	for (unsigned i = 0; i < NR_PIECES; i++) {
		struct vt_piece *piece = &g.pieces[i];

		if (!g.is_in[i])
			continue;
		if (is_below(piece, key))
			before = !before || is_below(before, piece) ? piece : before;
		else
			from = !from || is_below(piece, from) ? piece : from;
	}
	assert_ptr_equal(vt_free_set_from(&g.set, key->stream, key->size_bytes, key->address),
			 from);
	assert_ptr_equal(vt_free_set_before(&g.set, key->stream, key->size_bytes, key->address),
			 before);
}

static void assert_walked(unsigned nr)
{
	const struct vt_piece *last = NULL;

	for (const struct vt_piece *piece = vt_free_set_first(&g.set); piece;
	     piece = vt_free_set_next(piece), nr--) {
		assert_true(g.is_in[piece - g.pieces]);
		assert_true(!last || is_below(last, piece));
		last = piece;
	}
	assert_int_equal(nr, 0);
}

/* Fills up over many chunks, and empties again. */
static void change_and_look(int is_by_address)
{
	unsigned nr = 0;

	start(is_by_address);
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t which = random_below(i < 10000 ? NR_PIECES : NR_PIECES / 4);

		if (g.is_in[which])
			vt_free_set_remove(&g.set, &g.pieces[which]);
		else
			vt_free_set_insert(&g.set, &g.pieces[which]);
		g.is_in[which] ^= 1;
		nr += g.is_in[which] ? 1 : -1u;
		if (i % 100 == 0)
			assert_walked(nr);
		if (i % 10 == 0)
			assert_searched(&g.pieces[random_below(NR_PIECES)]);
	}
	for (unsigned i = 0; i < NR_PIECES; i++)
		if (g.is_in[i])
			vt_free_set_remove(&g.set, &g.pieces[i]);
	assert_null(vt_free_set_first(&g.set));
	vt_free_set_release(&g.set);
}

static void best_fit_is_found_in_any_number_of_pieces(void **state)
{
	(void)state;
	change_and_look(0);
}

static void order_may_be_by_address_alone(void **state)
{
	(void)state;
	change_and_look(1);
}

/* Segments of a damaged file may lie over each other. */
static void equals_come_in_front_and_go_one_by_one(void **state)
{
	(void)state;
	start(0);
	for (unsigned i = 0; i < NR_PIECES; i++) {
		g.pieces[i] = (struct vt_piece){ .address = 512, .size_bytes = 512 };
		vt_free_set_insert(&g.set, &g.pieces[i]);
		assert_ptr_equal(vt_free_set_first(&g.set), &g.pieces[i]);
	}
	for (unsigned i = 0; i < NR_PIECES; i++)
		vt_free_set_remove(&g.set, &g.pieces[i]);
	assert_null(vt_free_set_first(&g.set));
	vt_free_set_release(&g.set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_fit_is_found_in_any_number_of_pieces),
		cmocka_unit_test(order_may_be_by_address_alone),
		cmocka_unit_test(equals_come_in_front_and_go_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
