/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/families.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/embedded.h"
#include "analyzer/base/util.h"
#include "common/ini.h"

/* The file's entries in its order; every configuration asks for some sixty of them. */
static struct {
	VT_VECTOR(struct vt_ini_entry) entries;
	/* The first entry of each section that has any. */
	VT_VECTOR(size_t) sections;
} families;

static pthread_once_t families_are_read = PTHREAD_ONCE_INIT;

static void read_families(void)
{
	struct vt_ini_entry entry;
	const char *section = NULL;
	struct vt_ini ini;

	vt_ini_init(&ini, vt_embedded_families, strlen(vt_embedded_families));
	while (vt_ini_next(&ini, &entry) > 0) {
		if (entry.section != section)
			vt_vector_push(&families.sections, families.entries.len);
		section = entry.section;
		vt_vector_push(&families.entries, entry);
	}
}

static int is_text(const char *text, size_t len, const char *wanted, size_t wanted_len)
{
	return len == wanted_len && !memcmp(text, wanted, len);
}

int vt_families_is_known(const char *family)
{
	char heading[96];
	int len = snprintf(heading, sizeof(heading), "\n[%s]\n", family);

	/* A section may be empty, and the reader of entries then never shows it. */
	return strcmp(family, VT_FAMILY_FALLBACK) && (size_t)len < sizeof(heading) &&
	       memmem(vt_embedded_families, strlen(vt_embedded_families), heading, (size_t)len);
}

/* The section's first entry; NULL: there is none. */
static const struct vt_ini_entry *first_of(const char *section)
{
	size_t len = strlen(section);

	pthread_once(&families_are_read, read_families);
	for (size_t i = 0; i < families.sections.len; i++) {
		const struct vt_ini_entry *entry =
			&families.entries.items[families.sections.items[i]];

		if (is_text(entry->section, entry->section_len, section, len))
			return entry;
	}
	return NULL;
}

static int find(const char *section, const char *key, char *buf, size_t size)
{
	const struct vt_ini_entry *end, *first = first_of(section);
	size_t len = strlen(key);

	end = families.entries.items + families.entries.len;
	for (const struct vt_ini_entry *entry = first;
	     entry && entry < end && entry->section == first->section; entry++) {
		if (!is_text(entry->key, entry->key_len, key, len))
			continue;
		snprintf(buf, size, "%.*s", (int)entry->value_len, entry->value);
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
	int most = 0;

	pthread_once(&families_are_read, read_families);
	for (size_t i = 0; i < families.entries.len; i++) {
		const struct vt_ini_entry *entry = &families.entries.items[i];
		int nr = is_text(entry->key, entry->key_len, "recognised", strlen("recognised"))
				 ? count_keys(entry, has_key, context)
				 : 0;

		if (nr <= most)
			continue;
		most = nr;
		snprintf(buf, size, "%.*s", (int)entry->section_len, entry->section);
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
