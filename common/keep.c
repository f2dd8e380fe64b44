/* SPDX-License-Identifier: MIT */
#include "common/keep.h"

#include <string.h>

#include "common/size.h"

#define MIB (1ull << 20)

/* The longest that fits is 500 years. */
#define MOST_MINUTES 300000000ull

static int parse_time(const char *text, uint64_t *time_ns)
{
	static const struct {
		const char *word;
		uint64_t minutes;
	} units[] = { { "min", 1 }, { "h", 60 }, { "d", 24 * 60 } };
	uint64_t number = 0;
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 9)
		return -1;
	for (size_t i = 0; i < digits; i++)
		number = number * 10 + (uint64_t)(text[i] - '0');
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text + digits, units[i].word) != 0)
			continue;
		if (!number || number > MOST_MINUTES / units[i].minutes)
			return -1;
		*time_ns = number * units[i].minutes * 60 * 1000000000;
		return 0;
	}
	return -1;
}

int vt_keep_parse(const char *text, struct vt_keep *keep)
{
	*keep = (struct vt_keep){ 0 };
	if (!parse_time(text, &keep->time_ns))
		return 0;
	if (!vt_size_parse(text, &keep->bytes) && keep->bytes >= VT_KEEP_LEAST_BYTES)
		return 0;
	keep->bytes = 0;
	return -1;
}

static uint64_t part_of(const struct vt_keep *keep, uint64_t least, uint64_t most)
{
	uint64_t part = keep->bytes / 8;

	return part < least ? least : part > most ? most : part;
}

uint64_t vt_keep_journal_bytes(const struct vt_keep *keep)
{
	return part_of(keep, 16 * MIB, 512 * MIB);
}

uint64_t vt_keep_log_bytes(const struct vt_keep *keep)
{
	return part_of(keep, 8 * MIB, 64 * MIB);
}

uint64_t vt_keep_database_bytes(const struct vt_keep *keep)
{
	return keep->bytes - vt_keep_journal_bytes(keep) - vt_keep_log_bytes(keep);
}
