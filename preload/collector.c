/* SPDX-License-Identifier: MIT */
#include "preload/collector.h"

#include <string.h>

#include "preload/environment.h"
#include "preload/output.h"
#include "preload/real.h"
#include "preload/sys.h"
#include "preload/text.h"

#define STACK_BYTES (64u << 10)

/*
 * Where the program is, seen from the folder of libvtrace.so: build tree, PREFIX/lib/vtrace,
 * multiarch.
 */
static const char *const places[] = { "vtrace", "../../bin/vtrace", "../../../bin/vtrace" };

static int find_program(char *path)
{
	const char *own = vt_real_own_path();
	const char *slash = strrchr(own, '/');
	struct vt_text text;

	if (!slash)
		return 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		vt_text_init(&text, path, VT_OUTPUT_MAX);
		vt_text_add_bytes(&text, own, (size_t)(slash + 1 - own));
		vt_text_add(&text, places[i]);
		if (!text.is_cut && vt_sys_is_executable(path))
			return 1;
	}
	return 0;
}

/* The collector is not to be recorded, nor to carry what else is preloaded here. */
static void leave_out(char **variables)
{
	char **to = variables;

	for (char **from = variables; *from; from++)
		if (strncmp(*from, "LD_PRELOAD=", 11) != 0 && strncmp(*from, "LD_AUDIT=", 9) != 0)
			*to++ = *from;
	*to = NULL;
}

int vt_collector_start(const char *journal_path)
{
	/* One thread opens the recording, and its stack may be small. */
	static char path[VT_OUTPUT_MAX];
	static char journal[VT_OUTPUT_MAX];
	void *stack;
	char *arguments[] = { (char[]){ "vtrace" }, (char[]){ "collect" }, journal, NULL };
	struct vt_text text;
	int pid;

	if (!find_program(path))
		return 0;
	stack = vt_sys_map_private(STACK_BYTES);
	if (!stack)
		return 0;
	vt_text_init(&text, journal, sizeof(journal));
	vt_text_add(&text, journal_path);
	leave_out(vt_environment_all());
	pid = vt_sys_start_detached(path, arguments, vt_environment_all(), stack, STACK_BYTES);
	vt_sys_unmap(stack, STACK_BYTES);
	return pid > 0 ? pid : 0;
}
