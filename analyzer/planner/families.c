/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/families.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/embedded.h"
#include "common/ini.h"

static int is_text(const char *text, size_t len, const char *wanted)
{
	return strlen(wanted) == len && !memcmp(text, wanted, len);
}

/* Where the section begins, NULL: there is none. */
static const char *section_of(const char *family)
{
	char heading[96];
	int len = snprintf(heading, sizeof(heading), "\n[%s]\n", family);

	return len > 0 && (size_t)len < sizeof(heading) ? strstr(vt_embedded_families, heading) :
							  NULL;
}

int vt_families_is_known(const char *family)
{
	/* A section may be empty, and the reader of entries then never shows it. */
	return strcmp(family, VT_FAMILY_FALLBACK) && section_of(family);
}

static int find(const char *section, const char *key, char *buf, size_t size)
{
	const char *text = section_of(section);
	struct vt_ini_entry entry;
	struct vt_ini ini;

	if (!text)
		return 0;
	vt_ini_init(&ini, text, strlen(text));
	while (vt_ini_next(&ini, &entry) > 0 &&
	       is_text(entry.section, entry.section_len, section)) {
		if (!is_text(entry.key, entry.key_len, key))
			continue;
		snprintf(buf, size, "%.*s", (int)entry.value_len, entry.value);
		return 1;
	}
	return 0;
}

/* How many of the words are keys; 0 where one is not. */
static int count_keys(const struct vt_ini_entry *entry, vt_families_key_fn has_key,
		      const void *context)
{
	char words[256], *save;
	int nr = 0;

	snprintf(words, sizeof(words), "%.*s", (int)entry->value_len, entry->value);
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (!has_key(word, context))
			return 0;
		nr++;
	}
	return nr;
}

const char *vt_families_recognise(vt_families_key_fn has_key, const void *context, char *buf,
				  size_t size)
{
	struct vt_ini_entry entry;
	struct vt_ini ini;
	int most = 0;

	vt_ini_init(&ini, vt_embedded_families, strlen(vt_embedded_families));
	while (vt_ini_next(&ini, &entry) > 0) {
		int nr = is_text(entry.key, entry.key_len, "recognised") ?
				 count_keys(&entry, has_key, context) :
				 0;

		if (nr <= most)
			continue;
		most = nr;
		snprintf(buf, size, "%.*s", (int)entry.section_len, entry.section);
	}
	return most ? buf : NULL;
}

const char *vt_families_get(const char *family, const char *key, char *buf, size_t size)
{
	char other[64];

	buf[0] = '\0';
	if (find(family, key, buf, size) ||
	    (find(family, "like", other, sizeof(other)) && find(other, key, buf, size)))
		return buf;
	find(VT_FAMILY_FALLBACK, key, buf, size);
	return buf;
}

static int has_word(char *value, const char *word)
{
	char *save, *found;

	for (found = strtok_r(value, " ", &save); found; found = strtok_r(NULL, " ", &save))
		if (!strcmp(found, word))
			return 1;
	return 0;
}

int vt_families_has(const char *family, const char *key, const char *word)
{
	char value[1024];

	vt_families_get(family, key, value, sizeof(value));
	return has_word(value, word);
}

int vt_families_says(const char *family, const char *key, const char *word)
{
	char value[1024];

	return find(family, key, value, sizeof(value)) && has_word(value, word);
}
