/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/attribution/calls/spans.h"
#include "analyzer/base/util.h"
#include "analyzer/model/model.h"

#define MOST_SPANS 700

/* Spans of all lengths: most are short, a few hold nearly everything. */
static uint32_t make(struct vt_span *spans, uint32_t nr, unsigned seed)
{
	int64_t event = seed % 5;

	srand(seed);
	for (uint32_t i = 0; i < nr; i++) {
		spans[i].first_event = event;
		event += rand() % 50 ? rand() % 9 + 1 : rand() % 100000 + 1;
		spans[i].last_event = event - 1;
	}
	return nr;
}

static void check(const struct vt_span_index *index, const struct vt_span *spans, uint32_t nr,
		  int64_t event)
{
	assert_int_equal(vt_spans_index_find(index, event), vt_spans_find(spans, nr, event));
}

static void an_index_finds_what_a_search_finds(void **state)
{
	static struct vt_span spans[MOST_SPANS];

	(void)state;
	for (unsigned seed = 0; seed < 40; seed++) {
		uint32_t nr = make(spans, seed * MOST_SPANS / 40, seed);
		struct vt_span_index index;

		vt_spans_index_init(&index, spans, nr);
		for (uint32_t i = 0; i < nr; i++)
			for (int64_t beside = -1; beside <= 1; beside++) {
				check(&index, spans, nr, spans[i].first_event + beside);
				check(&index, spans, nr, spans[i].last_event + beside);
			}
		check(&index, spans, nr, INT64_MIN);
		check(&index, spans, nr, VT_NEVER);
		vt_spans_index_release(&index);
	}
}

/* As a damaged database has them. */
static void events_may_be_any_numbers(void **state)
{
	static const struct vt_span spans[] = { { INT64_MIN, -2, 0, 0 },
						{ -1, 3, 0, 0 },
						{ 4, VT_NEVER - 1, 0, 0 },
						{ VT_NEVER, VT_NEVER, 0, 0 } };
	static const int64_t events[] = { INT64_MIN, -2, -1, 0, 3, 4, 1ll << 30, VT_NEVER };
	struct vt_span_index index;

	(void)state;
	for (uint32_t nr = 0; nr <= VT_ARRAY_SIZE(spans); nr++) {
		vt_spans_index_init(&index, spans, nr);
		for (size_t i = 0; i < VT_ARRAY_SIZE(events); i++)
			check(&index, spans, nr, events[i]);
		vt_spans_index_release(&index);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_index_finds_what_a_search_finds),
		cmocka_unit_test(events_may_be_any_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
