/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RUN_KEYS_H
#define VT_ANALYZER_RUN_KEYS_H

/*
 * The keys of the run table that the importer writes.  A journal's information records cannot set
 * them: X(NAME, text) makes VT_RUN_NAME.
 */
#define VT_RUN_NUMBERS(X)                          \
	X(PID, "pid")                              \
	X(START_TIME, "start_time_ns")             \
	X(START_REALTIME, "start_realtime_ns")     \
	X(DURATION, "duration_ns")                 \
	X(IMPORTED_SLOTS, "imported_slots")        \
	X(EVENTS, "events")                        \
	X(LOST_EVENTS, "lost_events")              \
	X(TORN_RECORDS, "torn_records")            \
	X(MISSING_SLOTS, "missing_slots")          \
	X(REUSED_ADDRESSES, "reused_addresses")    \
	X(UNKNOWN_FREES, "unknown_frees")          \
	X(EXIT_STATUS, "exit_status")              \
	X(NO_EXIT_HANDLERS, "no_exit_handlers")    \
	X(RESOLVED_FRAMES, "resolved_frames")      \
	X(FOLDED_EVENT, "folded_event")            \
	X(FOLDED_TIME, "folded_time_ns")
#define VT_RUN_TEXTS(X)                            \
	X(ENDED, "ended")                          \
	X(RECORDING_STOPPED, "recording_stopped")  \
	X(KEEP, "keep")
#define VT_RUN_KEYS(X) VT_RUN_NUMBERS(X) VT_RUN_TEXTS(X)

enum vt_run_key {
#define VT_RUN_KEY(name, text) VT_RUN_##name,
	VT_RUN_KEYS(VT_RUN_KEY)
#undef VT_RUN_KEY
};

static inline const char *vt_run_key(enum vt_run_key key)
{
#define VT_RUN_KEY(name, text) text,
	static const char *const texts[] = { VT_RUN_KEYS(VT_RUN_KEY) };
#undef VT_RUN_KEY

	return texts[key];
}

#endif
