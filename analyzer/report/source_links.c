/* SPDX-License-Identifier: MIT */
#include "analyzer/report/source_links.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/util.h"

static char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? vt_xstrdup(value) : NULL;
}

static char *find_repository(void)
{
	const char *server = getenv("GITHUB_SERVER_URL"), *name = getenv("GITHUB_REPOSITORY");

	if (server && name && *server && *name)
		return vt_xasprintf("%s/%s", server, name);
	return variable("CI_PROJECT_URL");
}

char *vt_source_links_revision(const char *revision)
{
	char *found = revision ? vt_xstrdup(revision) : variable("GITHUB_SHA");

	return found ? found : variable("CI_COMMIT_SHA");
}

static char *with_slash(char *path)
{
	char *made = path && *path ? vt_xasprintf("%s%s", path,
						  path[strlen(path) - 1] == '/' ? "" : "/") :
				     NULL;

	free(path);
	return made;
}

void vt_source_links_init(struct vt_source_links *links, const char *repository,
			  const char *revision)
{
	char *of = with_slash(repository ? vt_xstrdup(repository) : find_repository());
	char *at = vt_source_links_revision(revision);
	int is_gitlab = of && (strstr(of, "gitlab") || getenv("GITLAB_CI"));

	memset(links, 0, sizeof(*links));
	if (of && at)
		links->lines = vt_xasprintf("%s%sblob/%s/", of, is_gitlab ? "-/" : "", at);
	links->root = variable("GITHUB_WORKSPACE");
	if (!links->root)
		links->root = variable("CI_PROJECT_DIR");
	links->root = with_slash(links->root);
	free(of);
	free(at);
}

void vt_source_links_release(struct vt_source_links *links)
{
	free(links->lines);
	free(links->root);
	memset(links, 0, sizeof(*links));
}

/* How much of a path is the checkout that it lies in, with the slash; 0: it is in none. */
static size_t checkout_of(const char *file)
{
	char *path = vt_xstrdup(file);
	size_t len = 0;

	for (char *slash = strrchr(path, '/'); slash && !len; slash = strrchr(path, '/')) {
		char *mark;

		*slash = '\0';
		mark = vt_xasprintf("%s/.git", path);
		if (!access(mark, F_OK))
			len = (size_t)(slash - path) + 1;
		free(mark);
	}
	free(path);
	return len;
}

char *vt_source_links_path(const struct vt_source_links *links, const struct vt_describe *describe,
			   const char *file)
{
	const char *shown;

	if (*file == '<' || vt_describe_is_framework(file) || vt_describe_package(file))
		return NULL;
	if (links->root && !strncmp(file, links->root, strlen(links->root)))
		return vt_xstrdup(file + strlen(links->root));
	if (*file == '/' && checkout_of(file))
		return vt_xstrdup(file + checkout_of(file));
	shown = vt_describe_file(describe, file);
	return *shown == '/' ? NULL : vt_xstrdup(shown);
}

char *vt_source_links_line(const struct vt_source_links *links, const struct vt_describe *describe,
			   const char *file, uint32_t line)
{
	char *path = links->lines ? vt_source_links_path(links, describe, file) : NULL, *made;

	if (!path)
		return NULL;
	made = vt_xasprintf("%s%s#L%u", links->lines, path, line);
	free(path);
	return made;
}
