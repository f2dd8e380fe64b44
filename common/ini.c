/* SPDX-License-Identifier: MIT */
#include "common/ini.h"

#include <string.h>

static int is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **text, size_t *len)
{
	while (*len && is_blank(**text)) {
		(*text)++;
		(*len)--;
	}
	while (*len && is_blank((*text)[*len - 1]))
		(*len)--;
}

void vt_ini_init(struct vt_ini *ini, const char *text, size_t len)
{
	memset(ini, 0, sizeof(*ini));
	ini->text = text;
	ini->len = len;
	ini->section = text;
}

static int next_line(struct vt_ini *ini, const char **line, size_t *len)
{
	const char *newline;

	if (ini->pos >= ini->len)
		return 0;
	*line = ini->text + ini->pos;
	newline = memchr(*line, '\n', ini->len - ini->pos);
	*len = newline ? (size_t)(newline - *line) : ini->len - ini->pos;
	ini->pos += *len + 1;
	ini->line++;
	trim(line, len);
	return 1;
}

static int split_entry(const struct vt_ini *ini, const char *line, size_t len,
		       struct vt_ini_entry *entry)
{
	const char *equals = memchr(line, '=', len);

	if (!equals)
		return -1;
	entry->section = ini->section;
	entry->section_len = ini->section_len;
	entry->key = line;
	entry->key_len = (size_t)(equals - line);
	entry->value = equals + 1;
	entry->value_len = len - entry->key_len - 1;
	trim(&entry->key, &entry->key_len);
	trim(&entry->value, &entry->value_len);
	return entry->key_len ? 1 : -1;
}

int vt_ini_next(struct vt_ini *ini, struct vt_ini_entry *entry)
{
	const char *line;
	size_t len;

	while (next_line(ini, &line, &len)) {
		if (!len || line[0] == '#' || line[0] == ';')
			continue;
		entry->line = ini->line;
		if (line[0] != '[')
			return split_entry(ini, line, len, entry);
		if (line[len - 1] != ']')
			return -1;
		ini->section = line + 1;
		ini->section_len = len - 2;
		trim(&ini->section, &ini->section_len);
	}
	return 0;
}
