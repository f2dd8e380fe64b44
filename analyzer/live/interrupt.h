/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_INTERRUPT_H
#define VT_ANALYZER_LIVE_INTERRUPT_H

/* SIGINT, SIGTERM and SIGHUP end what a command watches, not the command. */

#include <stdint.h>

/* From then on; for this process: those that it forks still end by them. */
void vt_interrupt_take(void);
int vt_interrupt_came(void);
/* Readable once one came, for poll(). */
int vt_interrupt_fd(void);
/* Sleeps so long, or until one comes.  Returns vt_interrupt_came(). */
int vt_interrupt_wait(uint64_t ms);

#endif
