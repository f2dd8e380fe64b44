/* SPDX-License-Identifier: MIT */
#include "analyzer/live/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "analyzer/base/util.h"

static volatile sig_atomic_t has_come;
static pid_t owner;
static int event = -1;

static void come(int number)
{
	const uint64_t one = 1;
	int error = errno;

	if (getpid() != owner) {
		signal(number, SIG_DFL);
		raise(number);
	} else {
		has_come = 1;
		/* Where it is full it is readable, which is all that is wanted. */
		(void)!write(event, &one, sizeof(one));
	}
	errno = error;
}

void vt_interrupt_take(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	/* Without SA_RESTART: they end a wait. */
	struct sigaction action = { .sa_handler = come };

	has_come = 0;
	owner = getpid();
	if (event < 0)
		event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (size_t i = 0; i < VT_ARRAY_SIZE(numbers); i++) {
		struct sigaction before;

		/* nohup, and a script's commands in the background: it is not for us. */
		if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
}

int vt_interrupt_came(void)
{
	return has_come;
}

int vt_interrupt_fd(void)
{
	return event;
}

int vt_interrupt_wait(uint64_t ms)
{
	struct pollfd input = { .fd = event, .events = POLLIN };

	if (!has_come)
		poll(&input, 1, ms > 86400000 ? 86400000 : (int)ms);
	return has_come;
}
