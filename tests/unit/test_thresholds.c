/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/live/thresholds.h"

#define S 1000000000ull

/* One recording with two owners, looked at again and again. */
struct scene {
	struct vt_thresholds thresholds;
	struct vt_rank rank;
	struct vt_rank_owner owners[2];
	char said[64]; /* R: reached, r: recovered */
	char line[256];
};

static void take(const struct vt_threshold_event *event, void *context)
{
	struct scene *scene = context;
	size_t len = strlen(scene->said);

	scene->said[len] = event->is_over ? 'R' : 'r';
	snprintf(scene->line, sizeof(scene->line), "%s", event->line);
}

static void begin(struct scene *scene, const char *rule)
{
	struct vt_threshold_rule parsed;

	memset(scene, 0, sizeof(*scene));
	assert_int_equal(vt_threshold_rule_parse(&parsed, rule), 0);
	vt_vector_push(&scene->thresholds.rules, parsed);
	scene->thresholds.say = take;
	scene->thresholds.context = scene;
	scene->owners[0].owner = (char *)"weights/up";
	scene->owners[1].owner = (char *)"weightsless";
	scene->rank = (struct vt_rank){ .file = (char *)"a/run.db", .device_bytes = 1000,
					.owners = scene->owners, .nr_owners = 2 };
}

static void look(struct scene *scene, uint64_t second, int64_t bytes)
{
	const struct vt_ranks_runs runs = { .files = &scene->rank, .nr_files = 1 };

	scene->rank.used_now_bytes = scene->rank.process_now_bytes = bytes;
	scene->owners[0].bytes = (uint64_t)bytes;
	vt_thresholds_look(&scene->thresholds, &runs, (100 + second) * S);
}

static void end(struct scene *scene, const char *said)
{
	assert_string_equal(scene->said, said);
	vt_thresholds_release(&scene->thresholds);
}

static void a_level_is_said_once_until_it_is_five_percent_below(void **state)
{
	static const int64_t bytes[] = { 799, 800, 900, 799, 761, 760, 800, 759, 799, 1000 };
	struct scene scene;

	(void)state;
	begin(&scene, "80%");
	for (unsigned i = 0; i < VT_ARRAY_SIZE(bytes); i++)
		look(&scene, i, bytes[i]);
	assert_int_equal(scene.thresholds.nr_reached, 2);
	end(&scene, "RrR");
}

static void an_owner_is_itself_and_what_is_below(void **state)
{
	struct scene scene;
	size_t at = 0;

	(void)state;
	begin(&scene, "weights=500B");
	scene.owners[1].bytes = 400;
	look(&scene, 0, 499);
	assert_null(vt_thresholds_unseen(&scene.thresholds, &at));
	look(&scene, 1, 500);
	assert_non_null(strstr(scene.line, " run.db: weights=500B reached: weights 500 B, 50.0 %"));
	end(&scene, "R");
	begin(&scene, "weight=500B");
	look(&scene, 0, 600);
	at = 0;
	assert_string_equal(vt_thresholds_unseen(&scene.thresholds, &at)->owner, "weight");
	assert_null(vt_thresholds_unseen(&scene.thresholds, &at));
	end(&scene, "");
}

/* Weights are loaded, steps come and go, then something stays. */
static void growth_is_what_stays(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, "+100B/min");
	for (uint64_t second = 0; second < 600; second += 2)
		look(&scene, second, 300 + (second % 44 < 30 ? 500 : 0));
	end(&scene, "");
	begin(&scene, "+100B/min");
	for (uint64_t second = 0; second < 600; second += 2)
		look(&scene, second, (second < 290 ? 300 : 420) + (second % 44 < 30 ? 500 : 0));
	assert_non_null(strstr(scene.line, "no longer reached: in use 0 B per min"));
	end(&scene, "Rr");
}

static void growth_is_per_period_also_where_looks_are_rare(void **state)
{
	struct scene scene;

	(void)state;
	/* 50 bytes a second, looked at every ten seconds. */
	begin(&scene, "weights=+60B/s");
	for (uint64_t second = 0; second < 100; second += 10)
		look(&scene, second, (int64_t)second * 50);
	end(&scene, "");
	begin(&scene, "weights=+50B/s");
	for (uint64_t second = 0; second < 100; second += 10)
		look(&scene, second, (int64_t)second * 50);
	assert_non_null(strstr(scene.line, "reached: weights +50 B per s"));
	end(&scene, "R");
}

static void growth_per_step_is_the_recordings(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, "+10B/step");
	scene.rank.growth_bytes = 10;
	look(&scene, 0, 0);
	assert_string_equal(scene.said, "");
	scene.rank.has_growth = 1;
	look(&scene, 1, 0);
	assert_non_null(strstr(scene.line, "in use +10 B per step"));
	scene.rank.growth_bytes = -10;
	look(&scene, 2, 0);
	end(&scene, "Rr");
}

static void what_is_not_known_is_not_judged(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, "1%");
	scene.rank.device_bytes = 0;
	look(&scene, 0, 500);
	scene.rank.problem = (char *)"unreadable";
	scene.rank.device_bytes = 1000;
	look(&scene, 1, 500);
	end(&scene, "");
}

static void a_share_of_a_device_of_unknown_size_is_said_once(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, "80%");
	look(&scene, 0, 900);
	assert_null(vt_thresholds_unsized(&scene.thresholds));
	end(&scene, "R");
	begin(&scene, "80%");
	scene.rank.device_bytes = 0;
	look(&scene, 0, 900);
	assert_string_equal(vt_thresholds_unsized(&scene.thresholds)->text, "80%");
	look(&scene, 1, 900);
	assert_null(vt_thresholds_unsized(&scene.thresholds));
	end(&scene, "");
}

static void each_recording_has_its_own(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, "50%");
	look(&scene, 0, 500);
	scene.rank.file = (char *)"a/other.db";
	look(&scene, 0, 500);
	look(&scene, 0, 0);
	assert_non_null(strstr(scene.line, " other.db: "));
	scene.rank.file = (char *)"a/run.db";
	look(&scene, 0, 500);
	end(&scene, "RRr");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_level_is_said_once_until_it_is_five_percent_below),
		cmocka_unit_test(an_owner_is_itself_and_what_is_below),
		cmocka_unit_test(growth_is_what_stays),
		cmocka_unit_test(growth_is_per_period_also_where_looks_are_rare),
		cmocka_unit_test(growth_per_step_is_the_recordings),
		cmocka_unit_test(what_is_not_known_is_not_judged),
		cmocka_unit_test(a_share_of_a_device_of_unknown_size_is_said_once),
		cmocka_unit_test(each_recording_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
