/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/json_cursor.h"

#include <ctype.h>
#include <string.h>

#define MAX_LEVELS 64

static void spoil(struct vt_json_cursor *c)
{
	c->is_bad = 1;
	c->at = c->end;
}

/* The next character that is no space, 0 at the end. */
static char peek(struct vt_json_cursor *c)
{
	while (c->at < c->end && memchr(" \t\r\n", *c->at, 4))
		c->at++;
	return c->at < c->end ? *c->at : '\0';
}

static int take(struct vt_json_cursor *c, char wanted)
{
	if (peek(c) != wanted || c->at == c->end)
		return 0;
	c->at++;
	return 1;
}

static void expect(struct vt_json_cursor *c, char wanted)
{
	if (!take(c, wanted))
		spoil(c);
}

int vt_json_enter(struct vt_json_cursor *c, char open)
{
	return take(c, open);
}

int vt_json_next(struct vt_json_cursor *c, char close, int *is_first)
{
	int was_first = *is_first;

	*is_first = 0;
	if (c->is_bad || take(c, close))
		return 0;
	if (!was_first)
		expect(c, ',');
	return !c->is_bad;
}

/* Behind a backslash; what \u stands for is nobody's business here. */
static int is_escape(const struct vt_json_cursor *c)
{
	if (*c->at == 'u')
		return c->end - c->at > 4 && isxdigit((unsigned char)c->at[1]) &&
		       isxdigit((unsigned char)c->at[2]) && isxdigit((unsigned char)c->at[3]) &&
		       isxdigit((unsigned char)c->at[4]);
	return *c->at && strchr("\"\\/bfnrt", *c->at);
}

struct vt_json_text vt_json_string(struct vt_json_cursor *c)
{
	struct vt_json_text text = { "", 0 };
	const char *start;

	expect(c, '"');
	start = c->at;
	while (c->at < c->end && *c->at != '"') {
		int is_escaped = *c->at == '\\';

		if ((unsigned char)*c->at < ' ')
			break;
		c->at += is_escaped;
		if (is_escaped && (c->at == c->end || !is_escape(c)))
			break;
		c->at++;
	}
	if (c->at >= c->end || *c->at != '"') {
		spoil(c);
		return text;
	}
	text = (struct vt_json_text){ start, (size_t)(c->at++ - start) };
	return text;
}

struct vt_json_text vt_json_name(struct vt_json_cursor *c)
{
	struct vt_json_text name = vt_json_string(c);

	expect(c, ':');
	return name;
}

static void skip_word(struct vt_json_cursor *c)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len = strlen(words[i]);

		if ((size_t)(c->end - c->at) >= len && !memcmp(c->at, words[i], len)) {
			c->at += len;
			return;
		}
	}
	spoil(c);
}

static void skip_digits(struct vt_json_cursor *c)
{
	const char *start = c->at;

	while (c->at < c->end && isdigit((unsigned char)*c->at))
		c->at++;
	if (c->at == start)
		spoil(c);
}

static void skip_number(struct vt_json_cursor *c)
{
	c->at += *c->at == '-';
	skip_digits(c);
	if (c->at < c->end && *c->at == '.') {
		c->at++;
		skip_digits(c);
	}
	if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
		c->at++;
		c->at += c->at < c->end && (*c->at == '+' || *c->at == '-');
		skip_digits(c);
	}
}

static void skip(struct vt_json_cursor *c, int level)
{
	char first = peek(c);
	int is_first = 1;

	if (level > MAX_LEVELS) {
		spoil(c);
	} else if (first == '{') {
		c->at++;
		while (vt_json_next(c, '}', &is_first)) {
			vt_json_name(c);
			skip(c, level + 1);
		}
	} else if (first == '[') {
		c->at++;
		while (vt_json_next(c, ']', &is_first))
			skip(c, level + 1);
	} else if (first == '"') {
		vt_json_string(c);
	} else if (first == '-' || isdigit((unsigned char)first)) {
		skip_number(c);
	} else {
		skip_word(c);
	}
}

void vt_json_skip(struct vt_json_cursor *c)
{
	skip(c, 1);
}

int vt_json_whole(struct vt_json_cursor *c, uint64_t *number)
{
	const char *at;
	int is_whole;

	peek(c);
	at = c->at;
	vt_json_skip(c);
	is_whole = at < c->at && !c->is_bad;
	for (*number = 0; is_whole && at < c->at; at++)
		is_whole = isdigit((unsigned char)*at) &&
			   !__builtin_mul_overflow(*number, 10, number) &&
			   !__builtin_add_overflow(*number, (uint64_t)(*at - '0'), number) &&
			   *number <= INT64_MAX;
	return is_whole ? 0 : -1;
}

int vt_json_is_over(struct vt_json_cursor *c)
{
	peek(c);
	return !c->is_bad && c->at == c->end;
}

int vt_json_is(const struct vt_json_text *text, const char *word)
{
	return text->len == strlen(word) && !memcmp(text->bytes, word, text->len);
}
