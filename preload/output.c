/* SPDX-License-Identifier: MIT */
#include "preload/output.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "common/launchers.h"
#include "preload/config.h"
#include "preload/environment.h"
#include "preload/sys.h"
#include "preload/text.h"

#define SUFFIX ".db"
#define LONGEST_SUFFIX ".journal"

/* A value becomes part of one file name, never a path. */
static void add_name(struct vt_text *text, const char *value)
{
	for (; *value; value++)
		vt_text_add_char(text, *value == '/' || (unsigned char)*value < ' ' ? '_' : *value);
}

/*
 * One function per placeholder: `at` is behind its letter; returns the position after what it took.
 */
static const char *add_program(struct vt_text *text, const char *at, unsigned int attempt)
{
	(void)attempt;
	add_name(text, program_invocation_short_name);
	return at;
}

static const char *add_process_id(struct vt_text *text, const char *at, unsigned int attempt)
{
	(void)attempt;
	vt_text_add_number(text, (uint64_t)vt_sys_process_id());
	return at;
}

static const char *add_host(struct vt_text *text, const char *at, unsigned int attempt)
{
	char host[256];

	(void)attempt;
	add_name(text, vt_sys_hostname(host, sizeof(host)) == 0 ? host : "host");
	return at;
}

static const char *add_start(struct vt_text *text, const char *at, unsigned int attempt)
{
	(void)attempt;
	vt_text_add_number(text, vt_sys_now_ns(CLOCK_REALTIME) / 1000000000u);
	return at;
}

static const char *add_number(struct vt_text *text, const char *at, unsigned int attempt)
{
	vt_text_add_number(text, attempt);
	return at;
}

static const char *add_rank(struct vt_text *text, const char *at, unsigned int attempt)
{
	struct vt_launcher launcher;

	(void)attempt;
	vt_launchers_find(&launcher, vt_environment_get);
	add_name(text, launcher.rank ? launcher.rank : "0");
	return at;
}

/* {NAME}; takes nothing where it is not written like that. */
static const char *add_environment(struct vt_text *text, const char *at, unsigned int attempt)
{
	char name[256];
	const char *end;
	const char *value;

	(void)attempt;
	if (*at != '{' || !(end = strchr(at, '}')) || (size_t)(end - at) > sizeof(name))
		return at;
	memcpy(name, at + 1, (size_t)(end - at - 1));
	name[end - at - 1] = '\0';
	value = vt_environment_get(name);
	add_name(text, value ? value : "");
	return end + 1;
}

static const char *add_percent(struct vt_text *text, const char *at, unsigned int attempt)
{
	(void)attempt;
	vt_text_add_char(text, '%');
	return at;
}

/* Expands the character after '%' at `at`; returns the position after what it took. */
static const char *expand(struct vt_text *text, const char *at, unsigned int attempt)
{
	switch (*at) {
#define EXPAND(letter, name)                                                                       \
	case letter:                                                                               \
		return add_##name(text, at + 1, attempt);
		VT_OUTPUT_PLACEHOLDERS(EXPAND)
#undef EXPAND
	default:
		vt_text_add_char(text, '%');
		return at;
	}
}

/* Whether the pattern numbers its outputs itself. */
static int has_number(const char *pattern)
{
	for (const char *at = strchr(pattern, '%'); at; at = strchr(at, '%')) {
		if (at[1] == 'n')
			return 1;
		at += at[1] ? 2 : 1;
	}
	return 0;
}

static void expand_all(struct vt_text *text, const char *pattern, unsigned int attempt)
{
	while (*pattern) {
		if (*pattern == '%')
			pattern = expand(text, pattern + 1, attempt);
		else
			vt_text_add_char(text, *pattern++);
	}
}

/* One of several processes, whose pattern does not say which: after the name. */
static void add_rank_suffix(struct vt_text *text, const char *pattern)
{
	struct vt_launcher launcher;

	vt_launchers_find(&launcher, vt_environment_get);
	if (!vt_launchers_is_one_of_many(&launcher) || vt_launchers_is_named_by(pattern))
		return;
	vt_text_add(text, ".rank");
	vt_text_add(text, launcher.rank);
}

int vt_output_name(struct vt_output *output, const char *pattern, unsigned int attempt)
{
	static char directory[VT_OUTPUT_MAX]; /* not on a stack that may be small */
	struct vt_text text;
	ssize_t err;

	vt_text_init(&text, output->base, sizeof(output->base) - sizeof(LONGEST_SUFFIX));
	if (*pattern != '/') {
		err = vt_sys_getcwd(directory, sizeof(directory));
		if (err < 0)
			return (int)err;
		vt_text_add(&text, directory);
		vt_text_add_char(&text, '/');
	}
	expand_all(&text, pattern, attempt);
	if (text.len > strlen(SUFFIX) &&
	    strcmp(text.bytes + text.len - strlen(SUFFIX), SUFFIX) == 0)
		text.bytes[text.len -= strlen(SUFFIX)] = '\0';
	/* Patterns that came to nothing would leave a hidden ".db". */
	if (text.bytes[text.len - 1] == '/')
		expand_all(&text, VT_RECORDER_DEFAULT_BASE, attempt);
	add_rank_suffix(&text, pattern);
	if (attempt > 1 && !has_number(pattern)) {
		vt_text_add_char(&text, '-');
		vt_text_add_number(&text, attempt);
	}
	return text.is_cut ? -ENAMETOOLONG : 0;
}

void vt_output_path(const struct vt_output *output, const char *suffix, char *path)
{
	struct vt_text text;

	vt_text_init(&text, path, VT_OUTPUT_MAX);
	vt_text_add(&text, output->base);
	vt_text_add(&text, suffix);
}
