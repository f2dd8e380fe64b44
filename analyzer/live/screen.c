/* SPDX-License-Identifier: MIT */
#include "analyzer/live/screen.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analyzer/base/util.h"
#include "analyzer/live/interrupt.h"

#define HOME	   "\033[H"
#define CLEAR	   "\033[2J"
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"

static void wake(int number)
{
	(void)number;
}

void vt_screen_measure(struct vt_screen *screen)
{
	struct winsize size;

	screen->nr_columns = 80;
	screen->nr_rows = 24;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col && size.ws_row) {
		screen->nr_columns = size.ws_col;
		screen->nr_rows = size.ws_row;
	}
}

void vt_screen_open(struct vt_screen *screen)
{
	/* Without SA_RESTART: it ends the wait. */
	struct sigaction action = { .sa_handler = wake };
	struct termios raw;

	vt_screen_measure(screen);
	vt_interrupt_take();
	sigaction(SIGWINCH, &action, NULL);
	screen->has_input = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &screen->before);
	if (screen->has_input) {
		raw = screen->before;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	fputs(CLEAR, stdout);
}

void vt_screen_close(struct vt_screen *screen)
{
	fflush(stdout);
	if (screen->has_input)
		tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
}

/* How many bytes the first columns of a line take: a character of UTF-8 is one column. */
static size_t cut(const char *line, size_t len, unsigned nr_columns)
{
	size_t i = 0;

	for (unsigned columns = 0; i < len; i++) {
		if (((unsigned char)line[i] & 0xc0) == 0x80)
			continue;
		if (columns++ == nr_columns)
			break;
	}
	return i;
}

void vt_screen_show(const struct vt_screen *screen, const char *text)
{
	fputs(HOME, stdout);
	/* The last line stays free: a line end in it would move all others up. */
	for (unsigned row = 0; *text && row + 1 < screen->nr_rows; row++) {
		size_t len = strcspn(text, "\n");

		fwrite(text, 1, cut(text, len, screen->nr_columns), stdout);
		fputs(CLEAR_LINE "\n", stdout);
		text += len + (text[len] == '\n');
	}
	fputs(CLEAR_REST, stdout);
	fflush(stdout);
}

int vt_screen_wait(const struct vt_screen *screen, uint64_t ms)
{
	struct pollfd inputs[] = {
		{ .fd = screen->has_input ? STDIN_FILENO : -1, .events = POLLIN },
		{ .fd = vt_interrupt_fd(), .events = POLLIN },
	};
	char key = 0;

	if (vt_interrupt_came())
		return 1;
	if (poll(inputs, VT_ARRAY_SIZE(inputs), ms > 86400000 ? 86400000 : (int)ms) > 0 &&
	    inputs[0].revents && (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q'))
		return 1;
	return vt_interrupt_came();
}
