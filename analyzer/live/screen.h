/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_SCREEN_H
#define VT_ANALYZER_LIVE_SCREEN_H

/*
 * A terminal that shows text again and again, by the few control sequences that all terminals know.
 * The last text stays on it.  One at a time: it takes the signals that end a program or change the
 * size.
 */

#include <stdint.h>
#include <termios.h>

struct vt_screen {
	unsigned nr_columns, nr_rows;
	struct termios before; /* of standard input */
	int has_input;
};

void vt_screen_open(struct vt_screen *screen);
void vt_screen_close(struct vt_screen *screen);
void vt_screen_measure(struct vt_screen *screen);
/* Lines are cut at the right and at the bottom. */
void vt_screen_show(const struct vt_screen *screen, const char *text);
/* Returns 1 where the user wants to end; earlier than asked where the size changed. */
int vt_screen_wait(const struct vt_screen *screen, uint64_t ms);

#endif
