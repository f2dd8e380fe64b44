/* SPDX-License-Identifier: MIT */
/*
 * The state word lies in a page that the kernel empties in a fork child (MADV_WIPEONFORK), however
 * the fork was made; where the kernel cannot do that (before 4.14), a fork handler does.  So a
 * child starts with NONE without having run anything, and never takes its parent's journal for its
 * own.
 */
#include "preload/session.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

#include "preload/collector.h"
#include "preload/config.h"
#include "preload/early.h"
#include "preload/environment.h"
#include "preload/info.h"
#include "preload/intern.h"
#include "preload/journal.h"
#include "preload/output.h"
#include "preload/python_stack.h"
#include "preload/stacks.h"
#include "preload/sys.h"
#include "preload/text.h"
#include "preload/thread_state.h"
#include "common/keep.h"

#define PAGE_BYTES 4096u
#define OPEN_WAIT_NS 2000000000ull
#define MOST_ATTEMPTS 1000u

enum state {
	STATE_NONE = 0,
	STATE_OPENING,
	STATE_LATE,		/* ... for so long that nobody waits for it any more */
	STATE_OPEN,
	STATE_REFUSED,
};

static struct {
	uint32_t *state;		/* atomic pointer to the atomic word; NULL = STATE_NONE */
	uint32_t spare_state;		/* the word where no page could be had (atomic) */
	int collector_pid;
	struct vt_output output;
	char path[VT_OUTPUT_MAX];	/* while it opens: the program's stacks may be small */
} g;

static uint32_t read_state(void)
{
	uint32_t *state = __atomic_load_n(&g.state, __ATOMIC_ACQUIRE);

	return state ? __atomic_load_n(state, __ATOMIC_ACQUIRE) : STATE_NONE;
}

int vt_session_is_open(void)
{
	return read_state() == STATE_OPEN;
}

const char *vt_session_base(void)
{
	return g.output.base;
}

int vt_session_collector(void)
{
	return g.collector_pid;
}

static void forget_in_child(void)
{
	*g.state = STATE_NONE;
}

/*
 * What pthread_atfork() calls, which is compiled into this library and would refer to it strongly
 * (foreign_libc.h).
 */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *library) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void add_fork_handler(void)
{
	if (__register_atfork)
		__register_atfork(NULL, NULL, forget_in_child, &__dso_handle);
}

/* The page with the state word, made once per process. */
static uint32_t *state_word(void)
{
	uint32_t *state = __atomic_load_n(&g.state, __ATOMIC_ACQUIRE);
	uint32_t *page;
	uint32_t *word;

	if (state)
		return state;
	page = vt_sys_map_private(PAGE_BYTES);
	word = page ? page : &g.spare_state;
	if (!__atomic_compare_exchange_n(&g.state, &state, word, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		vt_sys_unmap(page, PAGE_BYTES);
		return state;
	}
	if (!page || vt_sys_advise(page, PAGE_BYTES, MADV_WIPEONFORK) < 0)
		add_fork_handler();
	return word;
}

/* `path` is empty where it did not come to a name, or where that is another thread's. */
static void say_refused(const char *path, int error)
{
	char buffer[VT_OUTPUT_MAX + 128];
	struct vt_text text;

	vt_text_init(&text, buffer, sizeof(buffer));
	vt_text_add(&text, "vtrace: not recording; the program continues: ");
	if (*path) {
		vt_text_add(&text, path);
		vt_text_add(&text, ": ");
	}
	vt_text_add_error(&text, error);
	vt_text_add_char(&text, '\n');
	vt_text_say(&text);
}

/* Where a recording opens, so once per program that uses a GPU. */
static void say_wrong_option(const char *variable, const char *what)
{
	char buffer[256];
	struct vt_text text;

	vt_text_init(&text, buffer, sizeof(buffer));
	vt_text_add(&text, "vtrace: ");
	vt_text_add(&text, variable);
	vt_text_add(&text, " is not ");
	vt_text_add(&text, what);
	vt_text_add(&text, "; ignored\n");
	vt_text_say(&text);
}

static uint32_t own_boot_hash(void)
{
	char text[64];

	if (vt_sys_read_file("/proc/sys/kernel/random/boot_id", text, sizeof(text)) <= 0)
		return 0;
	return vt_journal_boot_hash(text);
}

/* From "pid:[4026531836]". */
static uint32_t own_pid_namespace(void)
{
	uint32_t inode = 0;
	char text[64];
	const char *at = text;

	if (vt_sys_readlink("/proc/self/ns/pid", text, sizeof(text)) <= 0)
		return 0;
	while (*at && *at != '[')
		at++;
	for (at += *at == '['; *at >= '0' && *at <= '9'; at++)
		inode = inode * 10 + (uint32_t)(*at - '0');
	return inode;
}

/* Nobody else looks for our process before we start the collector. */
static void write_place(void)
{
	struct vt_journal_header *header = vt_journal_header();

	header->boot_hash = own_boot_hash();
	header->pid_namespace = own_pid_namespace();
}

/* Creates the first candidate for which neither a journal nor a database exists. */
static int create_journal(char *path)
{
	int err = -EEXIST;

	for (unsigned int attempt = 1; err == -EEXIST && attempt <= MOST_ATTEMPTS; attempt++) {
		err = vt_output_name(&g.output, vt_config()->output, attempt);
		vt_output_path(&g.output, ".db", path);
		if (err)
			break;
		if (vt_sys_exists(path) == 0) {
			err = -EEXIST;
			continue;
		}
		vt_output_path(&g.output, ".journal", path);
		err = vt_journal_open(path);
	}
	return err;
}

/* Ids of an earlier recording (the parent's, in a fork child) mean nothing in this one. */
static int forget_ids(void)
{
	int err = vt_intern_reset();

	if (!err)
		err = vt_stacks_reset();
	if (!err)
		err = vt_python_stack_reset();
	vt_early_reset();
	return err;
}

/* Both bounds hold. */
static void limit_journal(void)
{
	uint64_t limit = (uint64_t)vt_config()->max_journal_mib << 20;
	struct vt_keep keep = { 0 };

	if (*vt_config()->keep && vt_keep_parse(vt_config()->keep, &keep) && !vt_config()->quiet)
		say_wrong_option("VTRACE_KEEP", VT_KEEP_EXAMPLES);
	if (keep.bytes && (!limit || limit > vt_keep_journal_bytes(&keep)))
		limit = vt_keep_journal_bytes(&keep);
	vt_journal_set_limit(limit);
}

static uint32_t open_recording(void)
{
	int err;

	g.path[0] = '\0';
	vt_environment_take();
	vt_config_read();
	vt_text_remember_stderr();
	if (vt_config_wrong() && !vt_config()->quiet)
		say_wrong_option(vt_config_wrong(), "a number");
	vt_journal_forget();
	limit_journal();
	g.collector_pid = 0;
	err = forget_ids();
	if (!err)
		err = create_journal(g.path);
	if (err) {
		say_refused(g.path, -err);
		return STATE_REFUSED;
	}
	write_place();
	vt_info_write_run();
	vt_early_write();
	vt_journal_exchange();
	/* Last: threads now exchange what they remember for ids of this recording. */
	vt_thread_new_generation();
	if (vt_config()->collect)
		g.collector_pid = vt_collector_start(g.path);
	return STATE_OPEN;
}

/* If the opener is only slow, the recording begins when it is done, and later events are in it. */
static void give_up_opener(void)
{
	uint32_t *word = state_word();
	uint32_t opening = STATE_OPENING;

	if (__atomic_compare_exchange_n(word, &opening, STATE_LATE, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		say_refused("", ETIMEDOUT);
}

/*
 * Another thread is opening.  It may need the dynamic loader's lock while we hold that (an
 * allocation in a library's constructor), so waiting must end.  It may also never come back (see
 * need_capacity in journal.c): only the first event waits.
 */
static uint32_t wait_for_opener(void)
{
	uint64_t give_up_ns = vt_sys_now_ns(CLOCK_MONOTONIC) + OPEN_WAIT_NS;
	uint32_t state;

	while ((state = read_state()) == STATE_OPENING) {
		if (vt_sys_now_ns(CLOCK_MONOTONIC) > give_up_ns) {
			give_up_opener();
			break;
		}
		vt_sys_yield();
	}
	return state;
}

int vt_session_ensure(void)
{
	uint32_t state = read_state();
	uint32_t *word;

	if (state == STATE_OPEN)
		return 1;
	if (state == STATE_NONE) {
		word = state_word();
		if (__atomic_compare_exchange_n(word, &state, STATE_OPENING, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			state = open_recording();
			__atomic_store_n(word, state, __ATOMIC_RELEASE);
			return state == STATE_OPEN;
		}
	}
	return wait_for_opener() == STATE_OPEN;
}
