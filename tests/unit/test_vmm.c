/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/import/vmm.h"

#define MIB (1ull << 20)

static void map_at(struct vt_vmm *vmm, uint64_t address, uint64_t size_bytes, uint64_t handle)
{
	struct vt_vmm_mapping mapping = { address, size_bytes, handle };
	struct vt_vmm_mappings removed = { 0 };

	vt_vmm_add_mapping(vmm, &mapping, &removed);
	vt_vector_release(&removed);
}

static size_t unmap_at(struct vt_vmm *vmm, uint64_t address, uint64_t size_bytes)
{
	struct vt_vmm_mappings removed = { 0 };
	size_t count;

	vt_vmm_remove_mappings(vmm, address, size_bytes, &removed);
	count = removed.len;
	vt_vector_release(&removed);
	return count;
}

static void memory_lives_until_its_last_mapping(void **state)
{
	struct vt_vmm vmm = { 0 };

	(void)state;
	vt_vmm_create(&vmm, 7);
	map_at(&vmm, 10 * MIB, 2 * MIB, 7);
	assert_int_equal(vt_vmm_drop_reference(&vmm, 7), 0);
	assert_int_equal(vt_vmm_is_held(&vmm, 7), 1);
	assert_int_equal(unmap_at(&vmm, 10 * MIB, 2 * MIB), 1);
	assert_int_equal(vt_vmm_is_held(&vmm, 7), 0);
	vt_vmm_release(&vmm);
}

static void memory_lives_until_its_last_reference(void **state)
{
	struct vt_vmm vmm = { 0 };

	(void)state;
	vt_vmm_create(&vmm, 7);
	vt_vmm_add_reference(&vmm, 7);
	map_at(&vmm, 10 * MIB, 2 * MIB, 7);
	assert_int_equal(unmap_at(&vmm, 10 * MIB, 2 * MIB), 1);
	assert_int_equal(vt_vmm_drop_reference(&vmm, 7), 0);
	assert_int_equal(vt_vmm_drop_reference(&vmm, 7), 1);
	assert_int_equal(vt_vmm_drop_reference(&vmm, 7), 0);
	vt_vmm_release(&vmm);
}

static void one_unmap_takes_every_mapping_of_its_range_and_no_other(void **state)
{
	struct vt_vmm vmm = { 0 };

	(void)state;
	/* Not in ascending order on purpose. */
	for (uint64_t i = 0; i < 100; i++) {
		vt_vmm_create(&vmm, 1 + i * 37 % 100);
		map_at(&vmm, (i * 37 % 100) * 2 * MIB, 2 * MIB, 1 + i * 37 % 100);
		vt_vmm_drop_reference(&vmm, 1 + i * 37 % 100);
	}
	assert_int_equal(unmap_at(&vmm, 20 * MIB, 10 * MIB), 5);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(vt_vmm_is_held(&vmm, 1 + i), i < 10 || i >= 15);
	assert_int_equal(unmap_at(&vmm, 0, 0), 0);
	vt_vmm_release(&vmm);
}

static void a_handle_that_comes_again_starts_anew(void **state)
{
	struct vt_vmm vmm = { 0 };

	(void)state;
	vt_vmm_create(&vmm, 7);
	map_at(&vmm, 10 * MIB, 2 * MIB, 7);
	vt_vmm_create(&vmm, 7);
	assert_int_equal(unmap_at(&vmm, 10 * MIB, 2 * MIB), 0);
	assert_int_equal(vt_vmm_drop_reference(&vmm, 7), 1);
	vt_vmm_release(&vmm);
}

static void what_was_never_seen_is_ignored(void **state)
{
	struct vt_vmm vmm = { 0 };

	(void)state;
	assert_int_equal(vt_vmm_drop_reference(&vmm, 9), 0);
	assert_int_equal(unmap_at(&vmm, 0, UINT64_MAX), 0);
	map_at(&vmm, UINT64_MAX - 1, UINT64_MAX, 9);
	assert_int_equal(unmap_at(&vmm, UINT64_MAX - 1, 1), 1);
	vt_vmm_release(&vmm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_lives_until_its_last_mapping),
		cmocka_unit_test(memory_lives_until_its_last_reference),
		cmocka_unit_test(one_unmap_takes_every_mapping_of_its_range_and_no_other),
		cmocka_unit_test(a_handle_that_comes_again_starts_anew),
		cmocka_unit_test(what_was_never_seen_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
