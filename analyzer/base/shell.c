/* SPDX-License-Identifier: MIT */
#include "analyzer/base/shell.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "common/shell_word.h"

char *vt_shell_copy(const char *path)
{
	size_t size = VT_SHELL_WORD_SIZE(strlen(path));
	char *word = vt_xcalloc(1, size);

	vt_shell_word_write(word, size, path);
	return word;
}
