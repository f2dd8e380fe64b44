/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/numbers.h"
#include "analyzer/base/units.h"

/* As those of settings.h. */
#define SMALL_SEGMENT  (2 * VT_MIB)
#define LARGE_SEGMENT  (20 * VT_MIB)
#define OWN_SEGMENT    (10 * VT_MIB) /* from here on a segment is made for one request */
#define FIRST_INTERVAL 20 /* log2 of 1 MiB */

/* AllocatorConfig.cpp replaced CUDAAllocatorConfig.cpp's own parsing of these options in 2.9. */
static int is_before_2_9(const char *version)
{
	unsigned major, minor;

	return version && sscanf(version, "%u.%u", &major, &minor) == 2 &&
	       (major < 2 || (major == 2 && minor < 9));
}

void vt_settings_init(struct vt_settings *settings, const char *version)
{
	memset(settings, 0, sizeof(*settings));
	settings->max_split_bytes = VT_SETTINGS_UNLIMITED;
	settings->max_rounding_bytes = LARGE_SEGMENT;
	settings->large_segment_bytes = LARGE_SEGMENT;
	settings->memory_fraction = 1.0;
	settings->has_open_list = (uint8_t)is_before_2_9(version);
	settings->is_native = 1;
}

static unsigned log2_floor(uint64_t value)
{
	return 63 - (unsigned)__builtin_clzll(value);
}

static uint32_t divisions_of(const struct vt_settings *settings, uint64_t size_bytes)
{
	unsigned log = log2_floor(size_bytes);
	unsigned interval = log > FIRST_INTERVAL ? log - FIRST_INTERVAL : 0;

	if (interval >= VT_SETTINGS_INTERVALS)
		interval = VT_SETTINGS_INTERVALS - 1;
	return settings->divisions[interval];
}

/* Up to the next of `divisions` equal steps between two powers of two. */
static uint64_t round_to_division(uint64_t size_bytes, uint32_t divisions)
{
	uint64_t power = 1ull << log2_floor(size_bytes);
	uint64_t step = power >> log2_floor(divisions);

	if (power == size_bytes)
		return size_bytes;
	if (!step)
		return power << 1;
	return (size_bytes + step - 1) / step * step;
}

uint64_t vt_settings_round(const struct vt_settings *settings, uint64_t request_bytes)
{
	uint32_t divisions;

	if (request_bytes < VT_SETTINGS_BLOCK_ROUNDING)
		return VT_SETTINGS_BLOCK_ROUNDING;
	divisions = divisions_of(settings, request_bytes);
	if (divisions > 1 && request_bytes > VT_SETTINGS_BLOCK_ROUNDING * divisions)
		return round_to_division(request_bytes, divisions);
	return (request_bytes + VT_SETTINGS_BLOCK_ROUNDING - 1) / VT_SETTINGS_BLOCK_ROUNDING *
	       VT_SETTINGS_BLOCK_ROUNDING;
}

uint64_t vt_settings_round_down(const struct vt_settings *settings, uint64_t bytes)
{
	uint64_t power, step;
	uint32_t divisions;

	if (bytes <= VT_SETTINGS_BLOCK_ROUNDING || vt_settings_round(settings, bytes) == bytes)
		return bytes;
	divisions = divisions_of(settings, bytes);
	power = 1ull << log2_floor(bytes);
	step = divisions > 1 ? power >> log2_floor(divisions) : VT_SETTINGS_BLOCK_ROUNDING;
	return step ? bytes / step * step : power;
}

int vt_settings_is_small(uint64_t rounded_bytes)
{
	return rounded_bytes <= VT_SETTINGS_SMALL_MAX;
}

uint64_t vt_settings_segment(const struct vt_settings *settings, uint64_t rounded_bytes)
{
	if (vt_settings_is_small(rounded_bytes))
		return SMALL_SEGMENT;
	if (rounded_bytes < OWN_SEGMENT)
		return settings->large_segment_bytes;
	return (rounded_bytes + VT_SETTINGS_SEGMENT_ROUNDING - 1) / VT_SETTINGS_SEGMENT_ROUNDING *
	       VT_SETTINGS_SEGMENT_ROUNDING;
}

uint64_t vt_settings_granule(const struct vt_settings *settings, int is_small)
{
	return is_small ? SMALL_SEGMENT : settings->large_segment_bytes;
}

int vt_settings_is_split(const struct vt_settings *settings, uint64_t rounded_bytes,
			 uint64_t remainder_bytes)
{
	if (settings->is_expandable || vt_settings_is_small(rounded_bytes))
		return remainder_bytes >= VT_SETTINGS_BLOCK_ROUNDING;
	return rounded_bytes < settings->max_split_bytes && remainder_bytes > VT_SETTINGS_SMALL_MAX;
}

uint64_t vt_settings_tail(const struct vt_settings *settings, uint64_t request_bytes)
{
	uint64_t rounded = vt_settings_round(settings, request_bytes);
	uint64_t rest = vt_settings_segment(settings, rounded) - rounded;

	return vt_settings_is_split(settings, rounded, rest) ? 0 : rest;
}

/* Options of 2.6 to 2.15 that change nothing about where blocks lie. */
static const char *const passed_over[] = {
	"expandable_segments_reserve",
	"expandable_segments_reserve_by_class",
	"graph_capture_record_stream_reuse",
	"pinned_free_catch_all",
	"pinned_max_cached_size_mb",
	"pinned_max_round_threshold_mb",
	"pinned_num_register_threads",
	"pinned_reserve_segment_size_mb",
	"pinned_use_background_threads",
	"pinned_use_cuda_host_register",
	"pinned_use_hip_host_register",
	"release_lock_on_cudamalloc",
	"release_lock_on_hipmalloc",
	"throw_on_cudamalloc_oom",
};

/* One word of the setting's text: up to `, : [ ]` or the end, spaces left out. */
struct reader {
	const char *at;
	char word[64];
	struct vt_diag *diag;
	const char *text;
	int is_strict; /* no options that are not known */
};

static int fail(struct reader *reader, const char *why)
{
	vt_diag_set(reader->diag, VT_EXIT_USAGE, "allocator settings \"%s\": %s", reader->text,
		    why);
	return -1;
}

static void next_word(struct reader *reader)
{
	size_t len = 0;

	while (*reader->at && !strchr(",:[]", *reader->at)) {
		if (*reader->at != ' ' && len + 1 < sizeof(reader->word))
			reader->word[len++] = *reader->at;
		reader->at++;
	}
	reader->word[len] = 0;
}

static int expect(struct reader *reader, char wanted)
{
	while (*reader->at == ' ')
		reader->at++;
	if (*reader->at != wanted)
		return fail(reader, "expected KEY:VALUE,...");
	reader->at++;
	return 0;
}

static int number_in(struct reader *reader, uint64_t max, uint64_t *number)
{
	int64_t parsed;

	next_word(reader);
	if (vt_numbers_parse(reader->word, (int64_t)max, &parsed))
		return fail(reader, "expected a number");
	*number = (uint64_t)parsed;
	return 0;
}

static int mebibytes_in(struct reader *reader, const char *key, uint64_t least, uint64_t *bytes)
{
	uint64_t number;
	char why[128];

	if (number_in(reader, UINT32_MAX, &number))
		return -1;
	if (number < least) {
		snprintf(why, sizeof(why), "PyTorch accepts no %s below %" PRIu64, key, least);
		return fail(reader, why);
	}
	*bytes = number * VT_MIB;
	return 0;
}

static int fraction_in(struct reader *reader, double *fraction)
{
	char *end;

	next_word(reader);
	*fraction = strtod(reader->word, &end);
	if (end == reader->word || *end || !isfinite(*fraction) || *fraction < 0 || *fraction > 1)
		return fail(reader, "expected a number from 0 to 1");
	return 0;
}

/* PyTorch refuses both ends. */
static int threshold_in(struct reader *reader, double *threshold)
{
	if (fraction_in(reader, threshold))
		return -1;
	return *threshold > 0 && *threshold < 1
		       ? 0
		       : fail(reader, "a garbage collection threshold lies between 0 and 1");
}

static int flag_in(struct reader *reader, uint8_t *flag)
{
	next_word(reader);
	if (strcmp(reader->word, "True") && strcmp(reader->word, "False"))
		return fail(reader, "expected True or False");
	*flag = !strcmp(reader->word, "True");
	return 0;
}

static int power_of_two_in(struct reader *reader, uint64_t *number)
{
	if (number_in(reader, UINT32_MAX, number))
		return -1;
	return *number & (*number - 1) ? fail(reader, "divisions are powers of two") : 0;
}

static int interval_in(struct reader *reader, unsigned *interval)
{
	int64_t mebibytes;

	if (vt_numbers_parse(reader->word, INT32_MAX, &mebibytes) || !mebibytes)
		return fail(reader, "expected MiB:DIVISIONS");
	*interval = log2_floor((uint64_t)mebibytes);
	if (*interval >= VT_SETTINGS_INTERVALS)
		*interval = VT_SETTINGS_INTERVALS - 1;
	return 0;
}

static void fill(uint32_t *divisions, unsigned from, unsigned to, uint64_t value)
{
	for (unsigned i = from; i < to; i++)
		divisions[i] = (uint32_t)value;
}

/* "256:1,512:2,>:8]": MiB of an interval, its divisions; the first one counts downwards too. */
static int division_list_in(struct reader *reader, struct vt_settings *settings)
{
	unsigned first = 0, last = 0, rest = settings->has_open_list ? 0 : 1;

	while (*reader->at && *reader->at != ']') {
		uint64_t value;
		int is_rest;

		next_word(reader);
		is_rest = !strcmp(reader->word, ">");
		if (!is_rest && interval_in(reader, &last))
			return -1;
		if (expect(reader, ':') || power_of_two_in(reader, &value))
			return -1;
		if (is_rest) {
			fill(settings->divisions, last + rest, VT_SETTINGS_INTERVALS, value);
		} else {
			fill(settings->divisions, first ? last : 0, last + 1, value);
			first = 1;
		}
		if (*reader->at == ',')
			reader->at++;
	}
	return expect(reader, ']');
}

static int divisions_in(struct reader *reader, struct vt_settings *settings)
{
	uint64_t value;

	if (*reader->at == '[') {
		reader->at++;
		return division_list_in(reader, settings);
	}
	if (power_of_two_in(reader, &value))
		return -1;
	fill(settings->divisions, 0, VT_SETTINGS_INTERVALS, value);
	return 0;
}

static int backend_in(struct reader *reader, uint8_t *is_native)
{
	next_word(reader);
	*is_native = !strcmp(reader->word, "native");
	return 0;
}

/* An option that does not change where blocks lie. */
static int pass_over(struct reader *reader, const char *key)
{
	int is_known = !reader->is_strict;

	for (size_t i = 0; i < VT_ARRAY_SIZE(passed_over); i++)
		is_known |= !strcmp(key, passed_over[i]);
	if (!is_known)
		return fail(reader, "unknown option of PyTorch's allocator");
	next_word(reader);
	if (*reader->at != '[')
		return 0;
	while (*reader->at && *reader->at != ']')
		reader->at++;
	return expect(reader, ']');
}

static int option_in(struct vt_settings *settings, struct reader *reader, const char *key)
{
	uint64_t least = settings->large_segment_bytes / VT_MIB;

	if (!strcmp(key, "max_split_size_mb"))
		return mebibytes_in(reader, key, least, &settings->max_split_bytes);
	if (!strcmp(key, "max_non_split_rounding_mb"))
		return mebibytes_in(reader, key, least, &settings->max_rounding_bytes);
	if (!strcmp(key, "large_segment_size_mb"))
		return mebibytes_in(reader, key, OWN_SEGMENT / VT_MIB + 1,
				    &settings->large_segment_bytes);
	if (!strcmp(key, "garbage_collection_threshold"))
		return threshold_in(reader, &settings->gc_threshold);
	if (!strcmp(key, "per_process_memory_fraction"))
		return fraction_in(reader, &settings->memory_fraction);
	if (!strcmp(key, "roundup_power2_divisions"))
		return divisions_in(reader, settings);
	if (!strcmp(key, "expandable_segments"))
		return flag_in(reader, &settings->is_expandable);
	if (!strcmp(key, "backend"))
		return backend_in(reader, &settings->is_native);
	return pass_over(reader, key);
}

static int parse(struct vt_settings *settings, const char *text, int is_strict,
		 struct vt_diag *diag)
{
	struct reader reader = {
		.at = text, .text = text, .diag = diag, .is_strict = is_strict
	};
	char key[sizeof(reader.word)];

	while (*reader.at) {
		next_word(&reader);
		if (!reader.word[0])
			return fail(&reader, "expected KEY:VALUE,...");
		memcpy(key, reader.word, sizeof(key));
		if (expect(&reader, ':') || option_in(settings, &reader, key))
			return -1;
		if (*reader.at && expect(&reader, ','))
			return -1;
	}
	return 0;
}

int vt_settings_parse(struct vt_settings *settings, const char *text, struct vt_diag *diag)
{
	return parse(settings, text, 0, diag);
}

int vt_settings_parse_known(struct vt_settings *settings, const char *text, struct vt_diag *diag)
{
	return parse(settings, text, 1, diag);
}

static void print_divisions(const uint32_t *divisions, struct vt_buffer *out)
{
	int is_uniform = 1;

	for (unsigned i = 1; i < VT_SETTINGS_INTERVALS; i++)
		is_uniform &= divisions[i] == divisions[0];
	if (is_uniform) {
		if (divisions[0] > 1)
			vt_buffer_printf(out, ",roundup_power2_divisions:%u", divisions[0]);
		return;
	}
	vt_buffer_puts(out, ",roundup_power2_divisions:[");
	for (unsigned i = 0; i < VT_SETTINGS_INTERVALS; i++)
		vt_buffer_printf(out, "%s%u:%u", i ? "," : "", 1u << i, divisions[i]);
	vt_buffer_puts(out, "]");
}

void vt_settings_print(const struct vt_settings *settings, struct vt_buffer *out)
{
	struct vt_buffer text;

	vt_buffer_init(&text);
	if (!settings->is_native)
		vt_buffer_puts(&text, ",backend:cudaMallocAsync");
	if (settings->is_expandable)
		vt_buffer_puts(&text, ",expandable_segments:True");
	if (settings->max_split_bytes != VT_SETTINGS_UNLIMITED)
		vt_buffer_printf(&text, ",max_split_size_mb:%llu",
				 (unsigned long long)(settings->max_split_bytes / VT_MIB));
	if (settings->max_rounding_bytes != LARGE_SEGMENT)
		vt_buffer_printf(&text, ",max_non_split_rounding_mb:%llu",
				 (unsigned long long)(settings->max_rounding_bytes / VT_MIB));
	if (settings->large_segment_bytes != LARGE_SEGMENT)
		vt_buffer_printf(&text, ",large_segment_size_mb:%llu",
				 (unsigned long long)(settings->large_segment_bytes / VT_MIB));
	if (settings->gc_threshold > 0)
		vt_buffer_printf(&text, ",garbage_collection_threshold:%g", settings->gc_threshold);
	if (settings->memory_fraction < 1)
		vt_buffer_printf(&text, ",per_process_memory_fraction:%g",
				 settings->memory_fraction);
	print_divisions(settings->divisions, &text);
	if (text.len)
		vt_buffer_puts(out, text.data + 1);
	vt_buffer_release(&text);
}
