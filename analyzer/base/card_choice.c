/* SPDX-License-Identifier: MIT */
#include "analyzer/base/card_choice.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "common/ini.h"

/* The caller frees; NULL with errno set. */
static char *read_file(const char *path)
{
	char *text = vt_xcalloc(1, VT_CARD_MAX_FILE_BYTES);
	FILE *file = fopen(path, "re");
	int error = 0;

	if (!file || (fread(text, 1, VT_CARD_MAX_FILE_BYTES - 1, file) == 0 && ferror(file)))
		error = errno;
	else if (getc(file) != EOF)
		error = EFBIG;
	if (file)
		fclose(file);
	if (!error)
		return text;
	free(text);
	errno = error;
	return NULL;
}

static int read_own(struct vt_card_profile *card, const char *path, const char *option,
		    struct vt_diag *diag)
{
	struct vt_card_error error;
	char *text = read_file(path);
	int rc = -1;

	if (!text)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s %s: %s", option, path, strerror(errno));
	else if (vt_card_profile_read(card, text, NULL, &error))
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s %s: %s", option, path, error.text);
	else
		rc = 0;
	free(text);
	return rc;
}

int vt_card_choice_read(struct vt_card_profile *card, const char *choice, const char *table,
			const char *option, struct vt_diag *diag)
{
	struct vt_card_error error;
	int is_file, rc;
	size_t len = vt_card_profile_split(choice, &is_file);
	char *name = vt_xasprintf("%.*s", (int)len, choice);

	if (is_file)
		rc = read_own(card, name, option, diag);
	else if ((rc = vt_card_profile_read(card, table, name, &error)))
		vt_diag_set(diag, VT_EXIT_USAGE, "%s %.64s: %s (vtrace run --simulate list)",
			    option, name, error.text);
	if (!rc && choice[len] && (rc = vt_card_profile_change(card, choice + len + 1, &error)))
		vt_diag_set(diag, VT_EXIT_USAGE, "%s %s: %s", option, name, error.text);
	free(name);
	return rc;
}

int vt_card_choice_at(struct vt_card_profile *card, const char *table, size_t place)
{
	struct vt_card_error error;
	struct vt_ini_entry entry;
	const char *last = NULL;
	struct vt_ini ini;
	char *name;
	int rc;

	vt_ini_init(&ini, table, strlen(table));
	while (vt_ini_next(&ini, &entry) > 0) {
		if (entry.section == last)
			continue;
		last = entry.section;
		if (place--)
			continue;
		name = vt_xasprintf("%.*s", (int)entry.section_len, entry.section);
		rc = vt_card_profile_read(card, table, name, &error);
		free(name);
		return rc;
	}
	return -1;
}

char *vt_card_choice_absolute(const char *choice, const char *option, struct vt_diag *diag)
{
	char path[PATH_MAX], *name, *absolute = NULL;
	int is_file;
	size_t len = vt_card_profile_split(choice, &is_file);

	if (!is_file)
		return vt_xstrdup(choice);
	name = vt_xasprintf("%.*s", (int)len, choice);
	if (!realpath(name, path))
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s %s: %s", option, name, strerror(errno));
	else if (strchr(path, ','))
		vt_diag_set(diag, VT_EXIT_USAGE, "%s %s: the path has a comma", option, path);
	else
		absolute = vt_xasprintf("%s%s", path, choice + len);
	free(name);
	return absolute;
}
