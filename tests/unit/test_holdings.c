/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/replay/holdings.h"

#define MOST 20000

/* What is alive is found again, and nothing else, while the table grows and gaps are closed. */
static void what_is_alive_is_held(void **state)
{
	static struct vt_piece pieces[MOST];
	struct vt_holdings holdings = { 0 };
	uint32_t seed = 3, nr = 0;

	(void)state;
	for (uint32_t i = 0; i < MOST; i++) {
		vt_holdings_add(&holdings, i, &pieces[i]);
		pieces[i].is_allocated = 1;
		nr++;
		/* One of three lives on, and is let go later, in another order. */
		for (int k = 0; k < 2; k++) {
			uint32_t gone;

			seed = seed * 1664525 + 1013904223;
			gone = k ? i : (seed >> 8) % (i + 1);
			if (k && (seed >> 4) % 3 == 0)
				continue;
			assert_ptr_equal(vt_holdings_remove(&holdings, gone),
					 pieces[gone].is_allocated ? &pieces[gone] : NULL);
			nr -= pieces[gone].is_allocated;
			pieces[gone].is_allocated = 0;
		}
		assert_int_equal(holdings.nr, nr);
	}
	for (uint32_t i = 0; i < MOST; i++)
		assert_ptr_equal(vt_holdings_remove(&holdings, i),
				 pieces[i].is_allocated ? &pieces[i] : NULL);
	assert_int_equal(holdings.nr, 0);
	assert_null(vt_holdings_remove(&holdings, 0));
	vt_holdings_release(&holdings);
	assert_null(vt_holdings_remove(&holdings, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_alive_is_held),
	};

	return cmocka_run_group_tests_name("holdings", tests, NULL, NULL);
}
