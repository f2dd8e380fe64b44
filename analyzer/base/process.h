/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PROCESS_H
#define VT_ANALYZER_PROCESS_H

/*
 * Whether the traced program still lives, by process id and start time, so that a reused id is not
 * taken for it.
 */

#include <stdint.h>

struct vt_process {
	uint32_t pid;
	uint64_t start_ticks; /* field 22 of /proc/PID/stat, 0 = unknown */
	int fd;               /* pidfd, -1 where there is none */
};

/* Starts watching; a process that is dead already is fine. */
void vt_process_open(struct vt_process *process, uint32_t pid, uint64_t start_ticks);
void vt_process_close(struct vt_process *process);

/*
 * Whether a process that was recorded under that boot (vt_journal_boot_hash) and in that pid
 * namespace cannot be looked up here: its id means another process, or none.  0 = unknown, taken
 * for ours.
 */
int vt_process_is_elsewhere(uint32_t boot_hash, uint32_t pid_namespace);
/* Equal for processes whose ids can be looked up from each other: one boot, one pid namespace. */
uint32_t vt_process_home(void);

int vt_process_is_alive(struct vt_process *process);
/* Waits until it dies, at most that long. */
void vt_process_wait(struct vt_process *process, unsigned int timeout_ms);

#endif
