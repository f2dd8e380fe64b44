/* SPDX-License-Identifier: MIT */
/*
 * Hostile snapshots: streams of opcodes, damaged pickles, and data that is no snapshot's.  Each is
 * imported, or refused in one line with exit code 3; memory is bounded by the input.
 * VT_FUZZ_ROUNDS in the environment for more than the quick rounds, VT_FUZZ_SEED for others.
 */
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/model/model.h"
#include "analyzer/snapshot/unpickle.h"
#include "analyzer/snapshot/snapshot.h"
#include "tests/lib/pickle_builder.h"
#include "tests/lib/planned.h"

#define QUICK_ROUNDS 3000
#define FILE_NAME    "fuzzed.pickle"

/* A chunk and the first tables; then what one byte may become: an empty dict and its place. */
#define MOST_FIXED_BYTES    ((uint64_t)1 << 20)
#define MOST_BYTES_PER_BYTE 64

/* What an import writes; the words of a new database stay, which take longest to make. */
static const char empty[] =
	"DELETE FROM run; DELETE FROM string; DELETE FROM module; DELETE FROM python_code;"
	"DELETE FROM python_frame; DELETE FROM python_node; DELETE FROM python_stack;"
	"DELETE FROM native_frame; DELETE FROM native_node; DELETE FROM native_stack;"
	"DELETE FROM allocation_row; DELETE FROM allocation_made; DELETE FROM allocation_freed;"
	"DELETE FROM allocation_callers; DELETE FROM allocation_base;"
	"DELETE FROM allocator_reserved; DELETE FROM allocation_parent; DELETE FROM event;"
	"DELETE FROM out_of_memory; DELETE FROM mark; DELETE FROM tensor; DELETE FROM probe;"
	"DELETE FROM peak; DELETE FROM device";

struct seen {
	struct vt_db *db;
	unsigned nr_imported;
	unsigned nr_refused;
	unsigned nr_unpacked;
};

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

static uint64_t below(uint64_t *seed, uint64_t nr)
{
	return next(seed) % nr;
}

static void check_refusal(const struct vt_diag *diag)
{
	assert_int_equal(diag->exit_code, VT_EXIT_UNREADABLE);
	assert_true(diag->text[0] && !strchr(diag->text, '\n'));
}

static void write_file(const struct vt_buffer *bytes)
{
	int fd = open(FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes->data, bytes->len), (ssize_t)bytes->len);
	close(fd);
}

/* The pickle alone: whether it is data, within its bounds. */
static int unpack(const struct vt_buffer *bytes, uint64_t *seed)
{
	uint64_t bound = MOST_FIXED_BYTES + MOST_BYTES_PER_BYTE * bytes->len;
	struct vt_stream *stream;
	struct vt_values values;
	struct vt_diag diag = { 0 };
	vt_value root;
	int rc;

	if (vt_stream_open(&stream, FILE_NAME, &diag)) {
		check_refusal(&diag);
		return 0;
	}
	vt_values_init(&values, below(seed, 8) ? UINT64_MAX / 2 : below(seed, bound));
	rc = vt_unpickle(&values, stream, &root, NULL, NULL, &diag);
	if (rc)
		check_refusal(&diag);
	if (values.used_bytes > bound)
		fail_msg("%zu bytes took %llu", bytes->len, (unsigned long long)values.used_bytes);
	vt_values_release(&values);
	vt_stream_close(stream);
	return !rc;
}

static void import(struct seen *seen, uint64_t *seed)
{
	struct vt_diag diag = { 0 };
	struct vt_model model = { 0 };

	if (vt_snapshot_import(FILE_NAME, seen->db, NULL, &diag)) {
		check_refusal(&diag);
		seen->nr_refused++;
	} else {
		seen->nr_imported++;
		if (!below(seed, 4)) {
			assert_int_equal(vt_model_load(&model, seen->db, &diag), 0);
			vt_model_release(&model);
		}
	}
	assert_int_equal(vt_db_exec(seen->db, empty), 0);
}

static void try(const struct vt_buffer *bytes, struct seen *seen, uint64_t *seed)
{
	if (!bytes->len)
		return;
	write_file(bytes);
	if (unpack(bytes, seed)) {
		seen->nr_unpacked++;
		import(seen, seed);
	}
}

/* --- data --- */

static const char *const actions[] = { "alloc",		"alloc",       "free_requested",
				       "free_completed", "segment_alloc", "segment_free",
				       "segment_map",	"segment_unmap", "oom",
				       "snapshot",	"annotate",    "alloc" };

/* Now and then something that does not belong there; how often is 1 of `oddity`. */
static int put_odd(struct pickle *p, uint64_t *seed, unsigned oddity)
{
	if (below(seed, oddity))
		return 0;
	switch (below(seed, 9)) {
	case 0:
		pickle_byte(p, 'N');
		break;
	case 7:
		pickle_open(p, '}');
		pickle_close(p, 'u');
		break;
	case 1:
		pickle_number(p, -(int64_t)below(seed, 1000));
		break;
	case 2:
		pickle_number(p, INT64_MAX - (int64_t)below(seed, 1000));
		break;
	case 3:
		pickle_number(p, (int64_t)1 << below(seed, 63));
		break;
	case 4:
		pickle_text(p, "odd");
		break;
	case 5:
		pickle_open(p, ']');
		pickle_close(p, 'e');
		break;
	case 6:
		pickle_byte(p, 0x88);
		break;
	default:
		if (p->nr_memoized)
			pickle_again(p, (unsigned)below(seed, p->nr_memoized));
		else
			pickle_byte(p, 'N');
	}
	return 1;
}

static void put_text(struct pickle *p, uint64_t *seed, unsigned oddity, const char *text)
{
	if (!put_odd(p, seed, oddity))
		pickle_text(p, text);
}

static void put_number(struct pickle *p, uint64_t *seed, unsigned oddity, int64_t number)
{
	if (!put_odd(p, seed, oddity))
		pickle_number(p, number);
}

/* Few addresses and sizes, so that they meet. */
static int64_t place(uint64_t *seed)
{
	return (int64_t)(0x7f0000000000 + (below(seed, 40) << 20) + (below(seed, 3) << 9));
}

static int64_t size(uint64_t *seed)
{
	static const int64_t sizes[] = { 0,	  1,	    512,      4096,	1 << 20, 2 << 20,
					 5 << 20, 20 << 20, 40 << 20, 22 << 20, 1000 };

	return sizes[below(seed, VT_ARRAY_SIZE(sizes))];
}

static void put_frames(struct pickle *p, uint64_t *seed, unsigned oddity)
{
	static const char *const names[] = { "main", "forward", "torch::autograd::N::apply(x)",
					     "torch::autograd::::apply(", "at::_ops::mm::call(",
					     "torch::unwind::unwind()", "??", "" };
	static const char *const files[] = { "a.py", "<frozen x>", "??", "", "x.cpp", "lib.so" };

	if (put_odd(p, seed, oddity))
		return;
	pickle_open(p, ']');
	for (uint64_t i = below(seed, 6); i > 0; i--) {
		if (put_odd(p, seed, oddity))
			continue;
		pickle_open(p, '}');
		pickle_text(p, "name");
		put_text(p, seed, oddity, names[below(seed, VT_ARRAY_SIZE(names))]);
		pickle_text(p, "filename");
		put_text(p, seed, oddity, files[below(seed, VT_ARRAY_SIZE(files))]);
		pickle_text(p, "line");
		put_number(p, seed, oddity, (int64_t)below(seed, 100));
		pickle_close(p, 'u');
	}
	pickle_close(p, 'e');
}

static void put_forward(struct pickle *p, uint64_t *seed, unsigned oddity)
{
	static const char *const lines[] = {
		"  File \"a.py\", line 3, in f\n    y = f(x)\n", "  File \"a.py\", line 4, in g\n",
		"  File \"", "  File \"a.py\", line ",
		"  File \"a.py\", line 99999999999999999999, in ",
		"  File \"\", line 1, in \n", "", "no line",
	};

	pickle_text(p, "forward_frames");
	if (put_odd(p, seed, oddity))
		return;
	pickle_open(p, ']');
	for (uint64_t i = below(seed, 6); i > 0; i--)
		put_text(p, seed, oddity, lines[below(seed, VT_ARRAY_SIZE(lines))]);
	pickle_close(p, 'e');
}

static void put_pool(struct pickle *p, uint64_t *seed, unsigned oddity, const char *key)
{
	pickle_text(p, key);
	if (put_odd(p, seed, oddity))
		return;
	pickle_open(p, ']');
	for (unsigned i = 0; i < 2; i++)
		put_number(p, seed, oddity, (int64_t)below(seed, 3));
	pickle_close(p, 'e');
}

static void put_labels(struct pickle *p, uint64_t *seed, unsigned oddity)
{
	static const char *const keys[] = { "owner", "category", "user_metadata",
					    "compile_context" };
	static const char *const texts[] = { "weights", "weights/a.weight", "activation",
					     "unknown", "parameter", "N/A", "/", "" };

	for (unsigned i = 0; i < VT_ARRAY_SIZE(keys); i++) {
		if (below(seed, 4))
			continue;
		pickle_text(p, keys[i]);
		put_text(p, seed, oddity, texts[below(seed, VT_ARRAY_SIZE(texts))]);
	}
}

static void put_entry(struct pickle *p, uint64_t *seed, unsigned oddity)
{
	if (put_odd(p, seed, oddity))
		return;
	pickle_open(p, '}');
	pickle_text(p, "action");
	put_text(p, seed, oddity, actions[below(seed, VT_ARRAY_SIZE(actions))]);
	pickle_text(p, "addr");
	put_number(p, seed, oddity, place(seed));
	pickle_text(p, "size");
	put_number(p, seed, oddity, size(seed));
	pickle_text(p, "stream");
	put_number(p, seed, oddity, (int64_t)below(seed, 3));
	pickle_text(p, "frames");
	put_frames(p, seed, oddity);
	if (below(seed, 8)) {
		pickle_text(p, "time_us");
		put_number(p, seed, oddity, (int64_t)below(seed, 1000));
	}
	if (!below(seed, 8))
		put_forward(p, seed, oddity);
	if (!below(seed, 4))
		put_labels(p, seed, oddity);
	if (!below(seed, 4))
		put_pool(p, seed, oddity, "pool_id");
	if (!below(seed, 4)) {
		pickle_text(p, below(seed, 2) ? "device_free" : "requested_size");
		put_number(p, seed, oddity, size(seed));
	}
	pickle_close(p, 'u');
}

static void put_block(struct pickle *p, uint64_t *seed, unsigned oddity)
{
	static const char *const states[] = { "active_allocated", "inactive",
					      "active_pending_free" };

	if (put_odd(p, seed, oddity))
		return;
	pickle_open(p, '}');
	if (below(seed, 2)) {
		pickle_text(p, "address");
		put_number(p, seed, oddity, place(seed));
	}
	pickle_text(p, "size");
	put_number(p, seed, oddity, size(seed));
	pickle_text(p, "state");
	put_text(p, seed, oddity, states[below(seed, VT_ARRAY_SIZE(states))]);
	pickle_text(p, "frames");
	put_frames(p, seed, oddity);
	if (!below(seed, 8))
		put_labels(p, seed, oddity);
	pickle_close(p, 'u');
}

static void put_segment(struct pickle *p, uint64_t *seed, unsigned oddity)
{
	if (put_odd(p, seed, oddity))
		return;
	pickle_open(p, '}');
	pickle_text(p, "device");
	put_number(p, seed, oddity, (int64_t)below(seed, 3));
	pickle_text(p, "address");
	put_number(p, seed, oddity, place(seed));
	pickle_text(p, "total_size");
	put_number(p, seed, oddity, size(seed));
	pickle_text(p, "is_expandable");
	pickle_byte(p, below(seed, 2) ? 0x88 : 0x89);
	if (!below(seed, 2))
		put_pool(p, seed, oddity, "segment_pool_id");
	pickle_text(p, "blocks");
	pickle_open(p, ']');
	for (uint64_t i = below(seed, 5); i > 0; i--)
		put_block(p, seed, oddity);
	pickle_close(p, 'e');
	pickle_close(p, 'u');
}

static void put_settings(struct pickle *p, uint64_t *seed, unsigned oddity)
{
	pickle_text(p, "allocator_settings");
	pickle_open(p, '}');
	pickle_text(p, "PYTORCH_CUDA_ALLOC_CONF");
	put_text(p, seed, oddity, below(seed, 2) ? "" : "max_split_size_mb:64,[>:x");
	pickle_text(p, "expandable_segments");
	pickle_byte(p, below(seed, 2) ? 0x88 : 0x89);
	pickle_text(p, "max_split_size");
	put_number(p, seed, oddity, -1);
	pickle_close(p, 'u');
}

static void put_annotations(struct pickle *p, uint64_t *seed, unsigned oddity)
{
	pickle_text(p, "external_annotations");
	pickle_open(p, ']');
	for (uint64_t i = below(seed, 6); i > 0; i--) {
		pickle_open(p, '}');
		pickle_text(p, "stage");
		put_text(p, seed, oddity, below(seed, 2) ? "START" : "END");
		pickle_text(p, "name");
		put_text(p, seed, oddity, below(seed, 2) ? "a" : "b");
		pickle_text(p, "time_us");
		put_number(p, seed, oddity, (int64_t)below(seed, 1000));
		pickle_close(p, 'u');
	}
	pickle_close(p, 'e');
}

static void make_snapshot(struct pickle *p, uint64_t *seed, unsigned oddity)
{
	pickle_begin(p);
	pickle_open(p, '}');
	pickle_text(p, "segments");
	pickle_open(p, ']');
	for (uint64_t i = below(seed, 6); i > 0; i--)
		put_segment(p, seed, oddity);
	pickle_close(p, 'e');
	pickle_text(p, "device_traces");
	pickle_open(p, ']');
	for (uint64_t i = below(seed, 3); i > 0; i--) {
		if (put_odd(p, seed, 2 * oddity))
			continue;
		pickle_open(p, ']');
		for (uint64_t j = below(seed, 40); j > 0; j--)
			put_entry(p, seed, oddity);
		pickle_close(p, 'e');
	}
	pickle_close(p, 'e');
	put_settings(p, seed, oddity);
	put_annotations(p, seed, oddity);
	pickle_close(p, 'u');
	pickle_end(p);
}

/* --- bytes --- */

static const unsigned char opcodes[] =
	"(.01FGIJKLMNSTUVXadeghjlpqrstu}])\x80\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x94\x95"
	"2BCPQRbcio\x81\x82\x83\x84\x8e\x8f\x90\x91\x92\x93\x96\x97\x98";

static void damage(struct vt_buffer *bytes, uint64_t *seed)
{
	for (uint64_t i = 1 + below(seed, 8); i > 0 && bytes->len; i--) {
		size_t at = (size_t)below(seed, bytes->len);
		size_t len = (size_t)below(seed, bytes->len - at < 64 ? bytes->len - at : 64);
		size_t to = (size_t)below(seed, bytes->len - len + 1);

		switch (below(seed, 5)) {
		case 0:
			bytes->data[at] = (char)next(seed);
			break;
		case 1:
			bytes->data[at] = (char)opcodes[below(seed, sizeof(opcodes) - 1)];
			break;
		case 2: /* A part goes. */
			memmove(bytes->data + at, bytes->data + at + len, bytes->len - at - len);
			bytes->len -= len;
			break;
		case 3: /* A part is somewhere else, too. */
			memmove(bytes->data + to, bytes->data + at, len);
			break;
		default:
			if (!below(seed, 8))
				bytes->len = at;
		}
	}
}

static void make_opcodes(struct vt_buffer *bytes, uint64_t *seed)
{
	vt_buffer_init(bytes);
	vt_buffer_append(bytes, "\x80\x04", 2);
	for (uint64_t i = below(seed, 200); i > 0; i--) {
		/* Mostly those that make something. */
		static const unsigned char usual[] = "(]})NKae\x94h0t\x85su\x88";
		unsigned char code = below(seed, 4) ? usual[below(seed, sizeof(usual) - 1)] :
						      opcodes[below(seed, sizeof(opcodes) - 1)];

		vt_buffer_append(bytes, &code, 1);
		if (code == 'K' || code == 'h') {
			code = (unsigned char)below(seed, 8);
			vt_buffer_append(bytes, &code, 1);
		}
	}
	vt_buffer_append(bytes, ".", 1);
}

static void play_rounds(uint64_t seed, unsigned nr_rounds, struct seen *seen)
{
	for (unsigned i = 0; i < nr_rounds; i++) {
		/* From none at all to one in four. */
		static const unsigned oddities[] = { 1u << 30, 1000, 100, 20, 4 };
		struct pickle p;

		if (i % 4 == 3) {
			make_opcodes(&p.bytes, &seed);
		} else {
			make_snapshot(&p, &seed,
				      oddities[below(&seed, VT_ARRAY_SIZE(oddities))]);
			if (i % 4 == 2)
				damage(&p.bytes, &seed);
		}
		try(&p.bytes, seen, &seed);
		vt_buffer_release(&p.bytes);
	}
}

static void each_is_imported_or_refused(void **state)
{
	const char *text = getenv("VT_FUZZ_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 1;
	unsigned nr_rounds = planned_rounds(QUICK_ROUNDS);
	struct seen seen = { 0 };

	(void)state;
	assert_int_equal(vt_db_open_memory(&seen.db, FILE_NAME, NULL), 0);
	play_rounds(seed, nr_rounds, &seen);
	vt_db_close(seen.db);
	print_message("%u rounds from seed %llu on: %u unpacked, %u imported, %u of them refused\n",
		      nr_rounds, (unsigned long long)seed, seen.nr_unpacked, seen.nr_imported,
		      seen.nr_refused);
	/* Of all kinds there are many: otherwise this is no test of them. */
	assert_true(seen.nr_imported > nr_rounds / 8);
	assert_true(seen.nr_refused > nr_rounds / 100);
	assert_true(seen.nr_unpacked < nr_rounds * 9 / 10);
}

/* Lists that are referred to again and again: work is bounded by the file, not by what it says. */
static void repetition_is_refused(void **state)
{
	struct seen seen = { 0 };
	uint64_t seed = 1;
	struct pickle p;

	(void)state;
	assert_int_equal(vt_db_open_memory(&seen.db, FILE_NAME, NULL), 0);
	pickle_begin(&p);
	pickle_open(&p, '}');
	pickle_text(&p, "segments");
	pickle_open(&p, ']');
	pickle_open(&p, '}');
	pickle_text(&p, "blocks");
	pickle_open(&p, ']');
	for (unsigned i = 0; i < 50000; i++) {
		pickle_open(&p, '}');
		pickle_close(&p, 'u');
	}
	pickle_close(&p, 'e');
	pickle_close(&p, 'u');
	/* Texts, lists and dicts so far: {, segments, [ and this. */
	for (unsigned i = 0; i < 50000; i++)
		pickle_again(&p, 3);
	pickle_close(&p, 'e');
	pickle_close(&p, 'u');
	pickle_end(&p);
	try(&p.bytes, &seen, &seed);
	pickle_release(&p);
	vt_db_close(seen.db);
	assert_int_equal(seen.nr_refused, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_imported_or_refused),
		cmocka_unit_test(repetition_is_refused),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
