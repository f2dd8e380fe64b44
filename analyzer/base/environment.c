/* SPDX-License-Identifier: MIT */
#include "analyzer/base/environment.h"

#include <stdlib.h>

#include "analyzer/base/util.h"

void vt_environment_prepend(const char *variable, const char *path)
{
	const char *old = getenv(variable);
	char *list = old && *old ? vt_xasprintf("%s:%s", path, old) : vt_xstrdup(path);

	setenv(variable, list, 1);
	free(list);
}
