/* SPDX-License-Identifier: MIT */
/* Pools that are followed, and that nobody asks one that is being destroyed. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The file itself, for its places. */
#include "preload/pools.c"

#define POOL 0x10000u
#define OTHER_POOL 0x20000u

static struct {
	uint64_t held_bytes;
	int is_capturing;
	int nr_questions;	/* to cuMemPoolGetAttribute (atomic) */
	int is_held_up;		/* a question does not return while this is set (atomic) */
	int nr_events;
	struct vt_event_record last;
	CUstreamCaptureMode mode;
} driver;

static CUresult pool_get(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	(void)pool;
	__atomic_add_fetch(&driver.nr_questions, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&driver.is_held_up, __ATOMIC_SEQ_CST))
		vt_sys_yield();
	assert_int_equal(driver.mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	*(uint64_t *)value = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? driver.held_bytes
									      : 0;
	return CUDA_SUCCESS;
}

static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode before = driver.mode;

	driver.mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

void *vt_real_find(enum vt_real_function function)
{
	if (function == VT_REAL_cuMemPoolGetAttribute)
		return (void *)pool_get;
	return function == VT_REAL_cuThreadExchangeStreamCaptureMode ? (void *)exchange_mode : NULL;
}

const struct vt_real_api *vt_real_api(enum vt_real_function function)
{
	static const struct vt_real_api api = { "any", 1, VT_KIND_POOL, VT_OP_MEMORY_INFO };

	(void)function;
	return &api;
}

int vt_tracker_is_active(void)
{
	return 1;
}

void vt_tracker_event(struct vt_event_record *event)
{
	driver.nr_events++;
	driver.last = *event;
}

int vt_devices_are_capturing(void)
{
	return driver.is_capturing;
}

static int setup(void **state)
{
	(void)state;
	memset(&g, 0, sizeof(g));
	memset(&driver, 0, sizeof(driver));
	driver.held_bytes = 4096;
	return 0;
}

static int questions_of_a_look(void)
{
	int before = driver.nr_questions;

	vt_pools_look();
	return driver.nr_questions - before;
}

static void test_only_changes_are_recorded(void **state)
{
	(void)state;
	assert_int_equal(vt_pools_follow(POOL, 3), POOL);
	assert_int_equal(driver.nr_events, 1);
	assert_int_equal(driver.last.device, 3);
	assert_int_equal(driver.last.address, POOL);
	assert_int_equal(driver.last.size_bytes, 4096);
	vt_pools_look();
	assert_int_equal(driver.nr_events, 1);
	driver.held_bytes = 8192;
	vt_pools_look();
	assert_int_equal(driver.nr_events, 2);
	assert_int_equal(driver.mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static void test_nobody_is_asked_during_a_capture(void **state)
{
	(void)state;
	vt_pools_follow(POOL, 0);
	driver.is_capturing = 1;
	assert_int_equal(questions_of_a_look(), 0);
}

static void test_taken_out_until_settled(void **state)
{
	uint64_t places;

	(void)state;
	vt_pools_follow(POOL, 0);
	vt_pools_follow(OTHER_POOL, 0);
	places = vt_pools_take_out(POOL);
	assert_int_equal(questions_of_a_look(), 1);
	/* Refused: followed as before, and nothing has changed. */
	vt_pools_settle(places, 0);
	assert_int_equal(questions_of_a_look(), 2);
	assert_int_equal(driver.nr_events, 2);
	vt_pools_settle(vt_pools_take_out(POOL), 1);
	assert_int_equal(questions_of_a_look(), 1);
	assert_int_equal(vt_pools_take_out(POOL), 0);
}

/* The driver may give the handle out again before the call that destroyed it has returned here. */
static void test_a_new_pool_of_the_same_handle_stays(void **state)
{
	uint64_t places;

	(void)state;
	vt_pools_follow(POOL, 0);
	places = vt_pools_take_out(POOL);
	vt_pools_follow(POOL, 0);
	vt_pools_settle(places, 1);
	assert_int_equal(questions_of_a_look(), 1);
}

static void test_all_are_taken_out_but_graphs(void **state)
{
	(void)state;
	vt_pools_follow(POOL, 0);
	vt_pools_follow_graphs(0);
	vt_pools_follow(OTHER_POOL, 1);
	assert_int_equal(vt_pools_take_out(0), 5);
	assert_int_equal(questions_of_a_look(), 0);
	assert_int_equal(key_at(1), 1);
}

static void *look(void *argument)
{
	(void)argument;
	vt_pools_look();
	return NULL;
}

static void *let_go(void *argument)
{
	(void)argument;
	/* Somebody waits: the place is taken out, and the asker still counted. */
	while (key_at(0) != KEY_BUSY)
		vt_sys_yield();
	__atomic_store_n(&driver.is_held_up, 0, __ATOMIC_SEQ_CST);
	return NULL;
}

static void begin_question(pthread_t *asker)
{
	vt_pools_follow(POOL, 0);
	driver.nr_questions = 0;
	driver.is_held_up = 1;
	assert_int_equal(pthread_create(asker, NULL, look, NULL), 0);
	while (!__atomic_load_n(&driver.nr_questions, __ATOMIC_SEQ_CST))
		vt_sys_yield();
}

static void test_a_question_in_the_driver_is_waited_for(void **state)
{
	pthread_t asker, helper;

	(void)state;
	begin_question(&asker);
	assert_int_equal(pthread_create(&helper, NULL, let_go, NULL), 0);
	assert_int_equal(vt_pools_take_out(POOL), 1);
	assert_int_equal(g.followed[0].nr_askers, 0);
	assert_int_equal(driver.is_held_up, 0);
	pthread_join(helper, NULL);
	pthread_join(asker, NULL);
}

static void test_an_asker_that_does_not_come_back_is_not_waited_for_twice(void **state)
{
	pthread_t asker;

	(void)state;
	begin_question(&asker);
	assert_int_equal(vt_pools_take_out(POOL), 0);
	vt_pools_settle(0, 1);
	assert_int_equal(key_at(0), KEY_BUSY);
	__atomic_store_n(&driver.is_held_up, 0, __ATOMIC_SEQ_CST);
	pthread_join(asker, NULL);
	vt_pools_follow(POOL, 0);
	assert_int_equal(key_at(1), POOL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_only_changes_are_recorded, setup),
		cmocka_unit_test_setup(test_nobody_is_asked_during_a_capture, setup),
		cmocka_unit_test_setup(test_taken_out_until_settled, setup),
		cmocka_unit_test_setup(test_a_new_pool_of_the_same_handle_stays, setup),
		cmocka_unit_test_setup(test_all_are_taken_out_but_graphs, setup),
		cmocka_unit_test_setup(test_a_question_in_the_driver_is_waited_for, setup),
		cmocka_unit_test_setup(
			test_an_asker_that_does_not_come_back_is_not_waited_for_twice, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
