/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/card_choice.h"
#include "analyzer/base/embedded.h"
#include "analyzer/base/util.h"

#define CARD "device = S\nsource = a data sheet\ntotal_bytes = 8GiB\ncapability = 80\nnr_sms = 40\n"

static const char table[] = "# cards\n[small-8g]\n" CARD "\n[large-80g]\n" CARD;

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void known_cards_with_options_are_taken(void **state)
{
	static const char *const cases[] = {
		"small-8g",
		"large-80g",
		"small-8g,memory=24GiB",
		"small-8g,memory=24 GB,count=2,driver=12.4",
		"small-8g,",
		"small-8g,other=3GiB",
		"small-8g,module=8MiB",
		"small-8g,nccl=100MiB",
		"small-8g,rank=255/256",
		"small-8g,capability=9.0,nr_sms=132",
		"small-8g,shared_per_sm_bytes=228KiB,context_bytes=300MiB",
		"small-8g,usable_bytes=7GiB,device=NVIDIA X",
	};
	struct vt_card_profile card;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++)
		assert_int_equal(vt_card_choice_read(&card, cases[i], table, "--x", NULL), 0);
	assert_string_equal(card.device, "NVIDIA X");
	assert_int_equal(card.usable_bytes, 7ull << 30);
}

static void what_a_card_leaves_out_follows_from_its_capability(void **state)
{
	struct vt_card_profile card;

	(void)state;
	assert_int_equal(vt_card_choice_read(&card, "small-8g", table, "--x", NULL), 0);
	assert_int_equal(card.max_threads_per_sm, 2048);
	assert_int_equal(card.shared_per_sm_bytes, 164 << 10);
	assert_int_equal(card.usable_bytes, card.total_bytes);
	assert_int_equal(card.context_bytes, VT_CARD_CONTEXT_BYTES);
	assert_true(card.is_context_assumed);
	assert_int_equal(vt_card_choice_read(&card, "small-8g,capability=8.9,total_bytes=4GiB",
					     table, "--x", NULL),
			 0);
	assert_int_equal(card.max_threads_per_sm, 1536);
	assert_int_equal(card.usable_bytes, 4ull << 30);
}

static void unknown_names_and_keys_get_the_nearest(void **state)
{
	static const struct {
		const char *choice, *text;
	} cases[] = {
		{ "large", "--x large: unknown card; nearest: large-80g, small-8g" },
		{ "smal-8g", "nearest: small-8g, large-80g" },
		{ "small-8g,memroy=24GiB",
		  "--x small-8g: unknown key \"memroy\"; nearest: memory, " },
		{ "small-8g,sms=4", "nearest: nr_sms, " },
		{ "small-8g,colour=red", "unknown key \"colour\"" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_card_profile card;
		struct vt_diag diag = { 0 };

		assert_int_equal(vt_card_choice_read(&card, cases[i].choice, table, "--x", &diag),
				 -1);
		assert_int_equal(diag.exit_code, 2);
		if (!strstr(diag.text, cases[i].text))
			fail_msg("%s: %s", cases[i].choice, diag.text);
	}
}

static void wrong_options_are_refused(void **state)
{
	static const char *const cases[] = {
		"small-8g,memory=",
		"small-8g,memory=lots",
		"small-8g,memory=0",
		"small-8g,memory=24",
		"small-8g,count=0",
		"small-8g,count=9",
		"small-8g,count=2x",
		"small-8g,driver=12.4.1",
		"small-8g,driver=new",
		"small-8g,memory=1GiB,x",
		"small-8g,other=",
		"small-8g,other=8GiB",
		"small-8g,rank=256/256",
		"small-8g,rank=-1/2",
		"small-8g,rank=1",
		"small-8g,rank=0/2x",
		"small-8g,capability=6.5",
		"small-8g,nr_sms=-1",
		"small-8g,nr_sms=1e3",
		"small-8g,usable_bytes=9GiB",
		"small-8g,memory=100MiB",
		"small-8g,device=",
		"small-8g,context_bytes=8GiB",
		"small-8g,=1",
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_card_profile card;
		struct vt_diag diag = { 0 };

		if (!vt_card_choice_read(&card, cases[i], table, "--x", &diag))
			fail_msg("%s was taken", cases[i]);
		assert_int_equal(diag.exit_code, 2);
	}
}

static void a_file_is_a_card(void **state)
{
	struct vt_card_profile card;
	char *absolute;

	(void)state;
	write_file("own.ini", "# mine\n[mine]\n" CARD);
	assert_int_equal(vt_card_choice_read(&card, "own.ini,count=2", table, "--x", NULL), 0);
	assert_string_equal(card.name, "mine");
	assert_int_equal(card.nr_devices, 2);
	absolute = vt_card_choice_absolute("own.ini,count=2", "--x", NULL);
	assert_true(absolute[0] == '/' && strstr(absolute, "/own.ini,count=2"));
	free(absolute);
	remove("own.ini");
}

static void wrong_files_are_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", "needs one section, [NAME], and has 0" },
		{ CARD, "needs one section" },
		{ "[a]\n" CARD "[b]\n" CARD, "needs one section, [NAME], and has 2" },
		{ "[a]\ndevice = S\n", "[a] has no total_bytes" },
		{ "[a]\n" CARD "nr_sm = 4\n", "line 7: unknown key \"nr_sm\"; nearest: nr_sms" },
		{ "[a]\n" CARD "count = 4\n", "line 7: unknown key \"count\"" },
		{ "[a]\n" CARD "l2_bytes = 40\n",
		  "line 7: l2_bytes=40: needs a size with its unit" },
		{ "[a]\n" CARD "nonsense\n", "line 7: no \"key = value\"" },
		{ "[a]\n" CARD "usable_bytes = 9GiB\n", "usable_bytes is more than total_bytes" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_card_profile card;
		struct vt_diag diag = { 0 };

		write_file("wrong.ini", cases[i].text);
		assert_int_equal(vt_card_choice_read(&card, "wrong.ini", table, "--x", &diag), -1);
		assert_int_equal(diag.exit_code, 3);
		if (!strstr(diag.text, cases[i].message) || !strstr(diag.text, "--x wrong.ini: "))
			fail_msg("%s", diag.text);
	}
	remove("wrong.ini");
	assert_null(vt_card_choice_absolute("wrong.ini", "--x", NULL));
}

/* The reader refuses keys that it does not know: so there is none that no code reads. */
static void every_card_of_the_table_is_read(void **state)
{
	struct vt_card_profile card;
	const char *text = vt_embedded_profiles;
	size_t nr = 0, nr_sections = 0;

	(void)state;
	for (const char *at = text; (at = strstr(at, "\n[")); at++)
		nr_sections++;
	for (; !vt_card_choice_at(&card, text, nr); nr++) {
		assert_true(card.total_bytes > 2ull << 30 && card.source[0]);
		assert_true(card.l2_bytes && card.clock_khz && card.memory_clock_khz);
		assert_true(card.memory_bus_bits);
	}
	assert_int_equal(nr, nr_sections);
	assert_true(nr >= 26);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_cards_with_options_are_taken),
		cmocka_unit_test(what_a_card_leaves_out_follows_from_its_capability),
		cmocka_unit_test(unknown_names_and_keys_get_the_nearest),
		cmocka_unit_test(wrong_options_are_refused),
		cmocka_unit_test(a_file_is_a_card),
		cmocka_unit_test(wrong_files_are_refused),
		cmocka_unit_test(every_card_of_the_table_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
