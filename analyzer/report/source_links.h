/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SOURCE_LINKS_H
#define VT_ANALYZER_SOURCE_LINKS_H

/*
 * The program's source files as its repository has them: paths relative to the checkout, and
 * addresses of lines on the pages of GitHub, GitLab and what is like them.
 */

#include <stdint.h>

#include "analyzer/model/describe.h"

struct vt_source_links {
	char *lines; /* "https://github.com/a/b/blob/REVISION/"; NULL: not known */
	char *root;  /* of the checkout, with a slash; NULL: not known */
};

/* What is NULL is taken from the variables of GitHub Actions and GitLab CI. */
void vt_source_links_init(struct vt_source_links *links, const char *repository,
			  const char *revision);
/* The commit, by the same order; to be freed, NULL: not known. */
char *vt_source_links_revision(const char *revision);
void vt_source_links_release(struct vt_source_links *links);

/*
 * A source file's path relative to the checkout, or else to the folder that the program ran in; to
 * be freed.  NULL: it is outside, as installed packages are.
 */
char *vt_source_links_path(const struct vt_source_links *links, const struct vt_describe *describe,
			   const char *file);
/* The address of a line; to be freed.  NULL: none is known. */
char *vt_source_links_line(const struct vt_source_links *links, const struct vt_describe *describe,
			   const char *file, uint32_t line);

#endif
