/* SPDX-License-Identifier: MIT */
#include "common/size.h"

#include <ctype.h>
#include <strings.h>

static int find_factor(const char *unit, double *factor)
{
	static const struct {
		const char *name;
		double factor;
	} units[] = {
		{ "", 1 },         { "B", 1 },        { "K", 0x1p10 },   { "M", 0x1p20 },
		{ "G", 0x1p30 },   { "T", 0x1p40 },   { "KiB", 0x1p10 }, { "MiB", 0x1p20 },
		{ "GiB", 0x1p30 }, { "TiB", 0x1p40 }, { "KB", 1e3 },     { "MB", 1e6 },
		{ "GB", 1e9 },     { "TB", 1e12 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcasecmp(unit, units[i].name)) {
			*factor = units[i].factor;
			return 0;
		}
	}
	return -1;
}

static double power_of_ten(int exponent)
{
	double power = 1;

	while (exponent-- > 0)
		power *= 10;
	return power;
}

/* "e3" behind a number; a unit may begin with the same letter. */
static const char *parse_exponent(const char *at, int *exponent)
{
	int is_negative = at[0] && at[1] == '-', value = 0;
	const char *digit = at + 1 + (is_negative || (at[0] && at[1] == '+'));

	if ((*at != 'e' && *at != 'E') || !isdigit((unsigned char)*digit))
		return at;
	for (; isdigit((unsigned char)*digit); digit++)
		if (value < 1000)
			value = value * 10 + (*digit - '0');
	*exponent += is_negative ? -value : value;
	return digit;
}

/*
 * Behind the number that `text` begins with; `text` where there is none.  Not by strtod(), whose
 * point is that of the program's locale: the simulated driver is part of any program.
 */
static const char *parse_number(const char *text, double *number)
{
	const char *at = text;
	int exponent = 0, nr_digits = 0, has_point = 0;
	uint64_t digits = 0;

	for (; isdigit((unsigned char)*at) || (*at == '.' && !has_point); at++) {
		if (*at == '.') {
			has_point = 1;
			continue;
		}
		nr_digits++;
		exponent -= has_point;
		if (digits <= (UINT64_MAX - 9) / 10)
			digits = digits * 10 + (uint64_t)(*at - '0');
		else
			exponent++;
	}
	if (!nr_digits)
		return text;
	at = parse_exponent(at, &exponent);
	*number = exponent < 0 ? (double)digits / power_of_ten(-exponent) :
				 (double)digits * power_of_ten(exponent);
	return at;
}

int vt_size_parse(const char *text, uint64_t *bytes)
{
	double factor, value = 0;
	const char *end = parse_number(text, &value);

	if (end == text)
		return -1;
	while (*end == ' ')
		end++;
	if (find_factor(end, &factor))
		return -1;
	value = value * factor + 0.5;
	/* The largest double below 2^63: everything is stored as a signed 64-bit number. */
	if (!(value >= 0 && value < 0x1p63))
		return -1;
	*bytes = (uint64_t)value;
	return 0;
}

static uint64_t hundredths_of(uint64_t bytes, unsigned int shift)
{
	uint64_t unit = 1ull << shift, rest = (bytes & (unit - 1)) * 100;
	uint64_t hundredths = rest >> shift, left = rest & (unit - 1);

	if (left > unit / 2 || (left == unit / 2 && hundredths % 2))
		hundredths++;
	return (bytes >> shift) * 100 + hundredths;
}

struct vt_size_parts vt_size_split(uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned int i = bytes >= 1024;
	uint64_t hundredths = hundredths_of(bytes, 10 * i);

	while (i && i < 4 && hundredths >= 102400)
		hundredths = hundredths_of(bytes, 10 * ++i);
	return (struct vt_size_parts){ hundredths / 100, (unsigned int)(hundredths % 100),
				       units[i] };
}
