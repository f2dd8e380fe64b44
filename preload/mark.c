/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "preload/guard.h"
#include "preload/probe.h"
#include "preload/tracker.h"

/* Declared in vtrace.h for programs; weak there, so that header is not for us. */
__attribute__((visibility("default"))) void vtrace_mark(const char *name);

void vtrace_mark(const char *name)
{
	int recording VT_GUARD_SCOPE = vt_guard_enter();

	if (!recording || !name)
		return;
	vt_tracker_mark(VT_MARK_POINT, VT_SOURCE_USER, name, strlen(name));
	vt_probe_note_mark();
}
