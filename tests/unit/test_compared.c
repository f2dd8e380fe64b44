/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdlib.h>

#include "analyzer/diff/verdict.h"

#define MIB (1ull << 20)

/* One device on which no owner and no place differs. */
static struct vt_diff_device device_of(uint64_t base_bytes, uint64_t new_bytes)
{
	return (struct vt_diff_device){ .peak_bytes = { base_bytes, new_bytes },
					.most_allocated_bytes = { 100 * MIB, 100 * MIB },
					.peak_noise_bytes = 20 * MIB };
}

static void assert_head(struct vt_diff_device device, int is_different, const char *expected)
{
	struct vt_diff diff = { .devices = &device, .nr_devices = 1 };
	char *head = vt_verdict_head(&diff);

	assert_int_equal(vt_diff_is_different(&diff), is_different);
	assert_string_equal(head, expected);
	free(head);
}

/* A cache that grew in the warm-up or a larger context: no block shows it. */
static void what_the_process_uses_is_compared_too(void **state)
{
	(void)state;
	assert_head(device_of(1024 * MIB, 1156 * MIB), 1,
		    "same peak allocated; peak process use +132.00 MiB (+12.9 %)");
	assert_head(device_of(1156 * MIB, 1024 * MIB), 1,
		    "same peak allocated; peak process use -132.00 MiB (-11.4 %)");
	assert_head(device_of(1024 * MIB, 1044 * MIB), 0, "no difference in memory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_process_uses_is_compared_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
