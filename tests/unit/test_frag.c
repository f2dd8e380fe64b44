/* SPDX-License-Identifier: MIT */
/* What `vtrace frag` prints of the blocks that pin free bytes. */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/report/frag.h"
#include "tests/lib/database_builder.h"

#define BASE 0x700000000000ull
#define MIB  (1ull << 20)

/* The engine's thread has no Python: the line is that of the call whose backward pass it is. */
static void a_pin_made_in_a_backward_pass_has_a_line_of_the_program(void **state)
{
	static const struct vt_frag_options options = { .when = "end", .device = 0, .top = 5 };
	struct builder_db *b = build_open("pins.db");
	struct vt_analysis analysis;
	struct vt_diag diag = { 0 };
	struct vt_frag frag;
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	(void)state;
	build_device(b, 0, 1ull << 32, 0);
	build_segment_at(b, BASE, 20 * MIB);
	build_alloc(b, &(struct build_event){ .address = BASE, .size = 2 * MIB,
					      .node = "AddmmBackward0", .sequence = 7,
					      .native = "libtorch_cpu.so!torch::autograd::Node",
					      .forward_python = "train.py:7 step" });
	build_close(b);
	if (vt_analysis_open(&analysis, "pins.db", NULL, &diag) ||
	    vt_frag_init(&frag, &analysis, &options, &diag))
		fail_msg("%s", diag.text);
	out = open_memstream(&text, &len);
	vt_frag_print_text(&frag, out);
	fclose(out);
	assert_non_null(strstr(text, "PINNED BY"));
	assert_non_null(strstr(strstr(text, "PINNED BY"), "       backward of train.py:7 step\n"));
	assert_null(strstr(text, "libtorch"));
	free(text);
	vt_frag_release(&frag);
	vt_analysis_close(&analysis);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pin_made_in_a_backward_pass_has_a_line_of_the_program),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
