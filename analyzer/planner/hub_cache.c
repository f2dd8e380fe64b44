/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/hub_cache.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/util.h"

static char *cache_folder(void)
{
	const char *cache = getenv("HF_HUB_CACHE"), *hf_home = getenv("HF_HOME");
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && *cache)
		return vt_xstrdup(cache);
	if (hf_home && *hf_home)
		return vt_xasprintf("%s/hub", hf_home);
	if (base && *base)
		return vt_xasprintf("%s/huggingface/hub", base);
	return vt_xasprintf("%s/.cache/huggingface/hub", home ? home : "");
}

/* "org/model", one slash and no path. */
static int is_name(const char *name)
{
	const char *slash = strchr(name, '/');

	return slash && slash != name && slash[1] && !strchr(slash + 1, '/') && name[0] != '.' &&
	       name[0] != '~';
}

/* The revision in a file of one line; an empty text where there is none. */
static void read_revision(const char *path, char *revision, size_t size)
{
	FILE *file = fopen(path, "re");

	if (!file || !fgets(revision, (int)size, file))
		revision[0] = '\0';
	if (file)
		fclose(file);
	for (size_t i = 0; revision[i]; i++)
		if (!isalnum((unsigned char)revision[i]))
			revision[i] = '\0';
}

char *vt_hub_cache_find(const char *name)
{
	const char *slash = strchr(name, '/');
	char *cache, *model, *path, *folder = NULL;
	char revision[128];

	if (!is_name(name))
		return NULL;
	cache = cache_folder();
	model = vt_xasprintf("%s/models--%.*s--%s", cache, (int)(slash - name), name, slash + 1);
	path = vt_xasprintf("%s/refs/main", model);
	read_revision(path, revision, sizeof(revision));
	if (*revision)
		folder = vt_xasprintf("%s/snapshots/%s", model, revision);
	if (folder && access(folder, R_OK | X_OK)) {
		free(folder);
		folder = NULL;
	}
	free(path);
	free(model);
	free(cache);
	return folder;
}
