/* SPDX-License-Identifier: MIT */
/*
 * Headers of safetensors and GGUF files: what they say, and that no byte of theirs is trusted.
 */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/planner/tensor_file.h"
#include "tests/lib/guarded.h"
#include "tests/lib/planned.h"

/* --- safetensors ------------------------------------------------------------------------------ */

#define GOOD                                                                                       \
	"{\"model.embed_tokens.weight\":{\"dtype\":\"BF16\",\"shape\":[100,8],"                    \
	"\"data_offsets\":[0,1600]},\"norm.weight\":{\"dtype\":\"F32\",\"shape\":[8],"             \
	"\"data_offsets\":[1600,1632]},\"__metadata__\":{\"format\":\"pt\"}}"
#define GOOD_DATA 1632

/* A file of that header, as if `data` bytes followed. */
static int read_safetensors(struct vt_architecture *model, const char *header, uint64_t size,
			    uint64_t data, struct vt_diag *diag)
{
	size_t len = 8 + strlen(header);
	char *whole = vt_xmalloc(len), *bytes;
	int rc;

	memcpy(whole, &size, 8);
	memcpy(whole + 8, header, len - 8);
	bytes = guarded_copy(whole, len);
	rc = vt_safetensors_read(model, bytes, len, len + data, "x", diag);
	guarded_free(bytes, len);
	free(whole);
	return rc;
}

static void a_safetensors_header_is_read(void **state)
{
	struct vt_architecture model = { 0 };
	struct vt_diag diag = { 0 };

	(void)state;
	assert_int_equal(read_safetensors(&model, GOOD, strlen(GOOD), GOOD_DATA, &diag), 0);
	assert_int_equal(model.nr_tensors, 2);
	assert_int_equal(vt_architecture_count(&model, NULL, NULL), 808);
	assert_int_equal(model.tensors[0].role, VT_ROLE_EMBEDDING);
	assert_int_equal(model.tensors[0].rows, 100);
	assert_true(model.tensors[0].bits == 16 && model.tensors[1].bits == 32);
	vt_architecture_release(&model);
}

/* What JSON allows, and what the format has beside plain types. */
static void odd_headers_are_read(void **state)
{
	static const struct {
		const char *header;
		uint64_t elements;
	} cases[] = {
		{ " {\t\"a\" : {\"x\":[{},[-1.5e+3,null,true]],\"shape\":[2 ,3],\"dtype\":\"F4\","
		  "\"data_offsets\":[0,3]}\n}\r\n", 6 },
		{ "{\"\\\"\\u00e9\":{\"dtype\":\"F8_E4M3\",\"shape\":[7],\"data_offsets\":[1,8]}}",
		  7 },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 1 },
		{ "{\"a\":{\"dtype\":\"I8\",\"shape\":[5],\"data_offsets\":[0,5]},"
		  "\"b\":{\"dtype\":\"I8\",\"shape\":[5],\"data_offsets\":[5,10]}}", 10 },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_architecture model = { 0 };
		struct vt_diag diag = { 0 };

		if (read_safetensors(&model, cases[i].header, strlen(cases[i].header), 100, &diag))
			fail_msg("%zu: %s", i, diag.text);
		assert_int_equal(vt_architecture_count(&model, NULL, NULL), cases[i].elements);
		assert_int_equal(model.nr_tensors, 1);
		vt_architecture_release(&model);
	}
}

static void hostile_safetensors_headers_are_refused(void **state)
{
	static const struct {
		const char *header;
		uint64_t size; /* 0: its length */
		const char *message;
	} cases[] = {
		{ "", 0, "truncated" },
		{ GOOD, 1, "truncated" },
		{ GOOD, sizeof(GOOD), "truncated" },
		{ GOOD, UINT64_MAX, "truncated" },
		{ GOOD, UINT64_MAX - 7, "truncated" },
		{ "[1]", 0, "not a JSON object" },
		{ "{\"a\":", 0, "not a JSON object" },
		{ "{}", 0, "no tensors" },
		{ "{\"a\":1}", 0, "do not fit the file" },
		{ "{\"a\":{\"dtype\":\"F99\",\"shape\":[1],\"data_offsets\":[0,4]}}", 0,
		  "do not fit the file" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 0,
		  "do not fit the file" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 0,
		  "do not fit the file" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 0,
		  "do not fit the file" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],"
		  "\"data_offsets\":[0,0]}}", 0, "do not fit the file" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[9000],\"data_offsets\":[0,36000]}}", 0,
		  "do not fit the file" },
		{ "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 0,
		  "do not fit the file" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[400],\"data_offsets\":[0,1600]},"
		  "\"b\":{\"dtype\":\"F32\",\"shape\":[400],\"data_offsets\":[0,1600]}}", 0,
		  "tensor b: type" },
		{ GOOD "x", 0, "not a JSON object" },
		{ "{\"__metadata__\":{\"a\":\"\\u12g4\"}}", 0, "not a JSON object" },
		{ "{\"__metadata__\":tru}", 0, "not a JSON object" },
		{ "{\"__metadata__\":1.}", 0, "not a JSON object" },
		{ "{\"a\" {}}", 0, "not a JSON object" },
		{ "{\"a\":{},}", 0, "do not fit the file" },
		{ "{\"__metadata__\":{},}", 0, "not a JSON object" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_architecture model = { 0 };
		struct vt_diag diag = { 0 };
		uint64_t size = cases[i].size ? cases[i].size : strlen(cases[i].header);

		assert_int_equal(read_safetensors(&model, cases[i].header, size, GOOD_DATA, &diag),
				 -1);
		assert_int_equal(diag.exit_code, VT_EXIT_UNREADABLE);
		if (!strstr(diag.text, cases[i].message))
			fail_msg("%zu: %s", i, diag.text);
		vt_architecture_release(&model);
	}
}

/* --- GGUF ------------------------------------------------------------------------------------- */

static void put(struct vt_buffer *out, uint64_t value, unsigned len)
{
	vt_buffer_append(out, &value, len);
}

static void put_text(struct vt_buffer *out, const char *text)
{
	put(out, strlen(text), 8);
	vt_buffer_append(out, text, strlen(text));
}

static void put_size(struct vt_buffer *out, const char *key, uint32_t value)
{
	put_text(out, key);
	put(out, 4, 4); /* u32 */
	put(out, value, 4);
}

static void put_tensor(struct vt_buffer *out, const char *name, uint64_t columns, uint64_t rows,
		       uint32_t type)
{
	put_text(out, name);
	put(out, 2, 4);
	put(out, columns, 8);
	put(out, rows, 8);
	put(out, type, 4);
	put(out, 0, 8);
}

static void put_good(struct vt_buffer *out)
{
	vt_buffer_init(out);
	vt_buffer_append(out, "GGUF", 4);
	put(out, 3, 4);
	put(out, 2, 8);
	put(out, 7, 8);
	put_text(out, "general.architecture");
	put(out, 8, 4);
	put_text(out, "llama");
	put_text(out, "tokenizer.ggml.tokens");
	put(out, 9, 4);
	put(out, 8, 4);
	put(out, 2, 8);
	put_text(out, "<s>");
	put_text(out, "hello");
	put_size(out, "llama.block_count", 2);
	put_size(out, "llama.embedding_length", 256);
	put_size(out, "llama.feed_forward_length", 512);
	put_size(out, "llama.attention.head_count", 4);
	put_size(out, "llama.attention.head_count_kv", 2);
	put_tensor(out, "token_embd.weight", 256, 1000, 14);
	put_tensor(out, "blk.0.attn_q.weight", 256, 256, 12);
}

static void a_gguf_header_is_read(void **state)
{
	struct vt_architecture model = { 0 };
	struct vt_diag diag = { 0 };
	struct vt_buffer file;

	(void)state;
	put_good(&file);
	assert_int_equal(vt_gguf_read(&model, file.data, file.len, "x", &diag), 0);
	assert_string_equal(model.family, "llama");
	assert_int_equal(model.nr_tensors, 2);
	assert_true(model.tensors[0].bits == 6.5625 && model.tensors[1].bits == 4.5);
	assert_int_equal(model.stacks[VT_PART_TEXT].vocabulary, 1000);
	assert_int_equal(model.stacks[VT_PART_TEXT].layers, 2);
	assert_int_equal(model.stacks[VT_PART_TEXT].head_dim, 64);
	assert_int_equal(model.stacks[VT_PART_TEXT].kv_heads, 2);
	assert_false(model.is_nominal);
	vt_architecture_release(&model);
	vt_buffer_release(&file);
}

static void every_cut_of_a_gguf_header_is_refused(void **state)
{
	struct vt_buffer file;

	(void)state;
	put_good(&file);
	for (size_t len = 0; len < file.len; len++) {
		struct vt_architecture model = { 0 };
		struct vt_diag diag = { 0 };
		char *bytes = guarded_copy(file.data, len);

		assert_int_equal(vt_gguf_read(&model, bytes, len, "x", &diag), -1);
		assert_int_equal(diag.exit_code, VT_EXIT_UNREADABLE);
		vt_architecture_release(&model);
		guarded_free(bytes, len);
	}
	vt_buffer_release(&file);
}

/* A generator with a fixed seed: the same bytes in every run (Numerical Recipes' constants). */
static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Whatever a damaged header says, reading it ends, and stays inside its bytes. */
static void damaged_headers_are_survived(void **state)
{
	struct vt_buffer good;
	uint32_t seed = 1;

	(void)state;
	put_good(&good);
	for (unsigned long round = 0; round < planned_rounds(20000); round++) {
		struct vt_architecture model = { 0 }, other = { 0 };
		struct vt_diag diag = { 0 };
		unsigned char *bytes = guarded_copy(good.data, good.len);
		char header[sizeof(GOOD)] = GOOD;

		for (int i = 0; i < 3; i++) {
			bytes[4 + next(&seed) % (good.len - 4)] = (unsigned char)next(&seed);
			header[next(&seed) % strlen(GOOD)] = (char)(32 + next(&seed) % 95);
		}
		vt_gguf_read(&model, bytes, good.len, "x", &diag);
		read_safetensors(&other, header, strlen(header), GOOD_DATA, &diag);
		vt_architecture_release(&model);
		vt_architecture_release(&other);
		guarded_free(bytes, good.len);
	}
	vt_buffer_release(&good);
}

static void counts_that_no_file_can_hold_are_refused(void **state)
{
	struct vt_architecture model = { 0 };
	struct vt_diag diag = { 0 };
	struct vt_buffer file;
	uint64_t huge = UINT64_MAX / 2;

	(void)state;
	put_good(&file);
	memcpy(file.data + 8, &huge, 8);
	assert_int_equal(vt_gguf_read(&model, file.data, file.len, "x", &diag), -1);
	assert_non_null(strstr(diag.text, "counts more than the file can hold"));
	vt_architecture_release(&model);
	vt_buffer_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_safetensors_header_is_read),
		cmocka_unit_test(odd_headers_are_read),
		cmocka_unit_test(hostile_safetensors_headers_are_refused),
		cmocka_unit_test(a_gguf_header_is_read),
		cmocka_unit_test(every_cut_of_a_gguf_header_is_refused),
		cmocka_unit_test(damaged_headers_are_survived),
		cmocka_unit_test(counts_that_no_file_can_hold_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
